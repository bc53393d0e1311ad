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
export { openRepository, type RepositoryOptions } from "./repository/open.ts";
export type {
  DiscoveredRepository,
  FoundSettings,
  FoundSnapshot,
  HeadOptions,
  PinnedRepository,
  Repository,
} from "./repository/repository.ts";
export type { FoundHead, ListedMarker, RefusedHead } from "./repository/find-heads.ts";
export { discoverRepository } from "./repository/discover.ts";
export {
  GRACE_DEFAULT,
  allowWriter,
  type ChangeOptions,
  changeSettings,
  createRepository,
  type CreateOptions,
  revokeWriter,
} from "./repository/settings.ts";
export { allow, close, revoke } from "./rules/granting.ts";
export { shareKeys, type SharedKeys, type SkippedSnapshot } from "./maintenance/share-keys.ts";
export { type Fork, forksOf } from "./rules/forks.ts";
export {
  type HeadMemory,
  type RememberedHead,
  volatileHeadMemory,
} from "./repository/head-memory.ts";
export { headMemoryFile, type HeadMemoryFileOptions } from "./repository/head-memory-file.ts";

export { type OpenSnapshot, openSnapshot, type ReadOptions } from "./read/open-snapshot.ts";
export { type ResolveOptions, resolveSnapshot } from "./read/resolve.ts";
export type { WalkedEntry } from "./read/walk.ts";
export { diff, type Difference } from "./read/diff.ts";
export { find } from "./read/find.ts";
export { matchesPattern } from "./format/names/pattern.ts";
export { compileFinder, parseExcludeFile } from "./walk/excludes.ts";

export {
  type ChainDecisions,
  type ForgetOptions,
  type ForgetReport,
  forget,
} from "./maintenance/forget/forget.ts";
export {
  type UnforgetOptions,
  type UnforgetReport,
  unforget,
} from "./maintenance/forget/unforget.ts";
export { forgottenIn, forgottenOf } from "./maintenance/repository-state.ts";
export {
  type PruneOptions,
  type PruneProgress,
  type PruneReport,
  prune,
} from "./maintenance/prune/prune.ts";

export { backup, backupStatus } from "./write/backup.ts";
export { countFiles } from "./write/count-files.ts";
export type { SelectingOptions } from "./write/run-backup.ts";
export type {
  BackupCounts,
  BackupEvent,
  BackupOptions,
  BackupStatus,
  BackupSummary,
} from "./write/options.ts";

export { restore } from "./restore/restore.ts";
export type {
  Overwrite,
  RestoreAction,
  RestoreCounts,
  RestoreEvent,
  RestoreOptions,
  RestoreSummary,
} from "./restore/options.ts";
export type { BlobShard } from "./maintenance/shard.ts";
export { check } from "./maintenance/check/check.ts";
export type {
  CheckOptions,
  CheckProblem,
  CheckProgress,
  CheckReport,
  ProblemCounts,
} from "./maintenance/check/problems.ts";
export { isHarmless } from "./maintenance/check/problems.ts";
export {
  recover,
  type RecoverOptions,
  type RecoverProgress,
  type RecoverReport,
  type UnrecoveredHead,
} from "./maintenance/recover.ts";
