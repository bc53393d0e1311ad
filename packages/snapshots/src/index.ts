/** The format of snapshots: what later parts of this package read and write. */
export {
  formatWriterKey,
  ownerKeyOf,
  parseWriter,
  parseWriterKey,
  type Writer,
  type WriterKey,
  writerKeyFromSeed,
} from "./format/keys/writer.ts";
export {
  isProtectedWriterFile,
  protectWriterKey,
  readWriterFile,
} from "./format/keys/writer-files.ts";
export { decideRetention, type RetentionPolicy, type Span } from "./rules/retention.ts";
