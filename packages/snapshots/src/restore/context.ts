import type { AttributePolicy, Attributes } from "./target/attributes.ts";
import type { Location, Report } from "./report.ts";
import type { TargetFolder, TargetFolders } from "./target/target-folders.ts";
import type { FileThreads } from "./threads/pool.ts";
import type { FileWriter } from "./contents/write-file.ts";
import type { JoinedLinks } from "./links/joined-links.ts";
import type { RestoreAction } from "./options.ts";

/** What all parts of one restore share. */
export interface RestoreContext extends FileWriter {
  readonly folders: TargetFolders;
  readonly policy: AttributePolicy;
  readonly links: JoinedLinks;
  readonly report: Report;
  readonly threads: FileThreads;
  /** Whether the backup could not read some files or folders. */
  readonly hasUnread: boolean;
  /** Frees what is not needed any more, if memory has grown. */
  readonly freeMemory: () => void;
  readonly signal: AbortSignal | undefined;
}

/** An entry other than a folder that is going to be in the target. */
export interface Planned extends Location {
  readonly parent: TargetFolder;
  readonly name: Uint8Array;
  readonly attributes: Attributes;
  readonly action: Extract<RestoreAction, "created" | "replaced">;
  /** Of hard links. */
  readonly group: number | undefined;
}
