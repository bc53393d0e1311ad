import type { Entry } from "../../format/tree/entry.ts";
import type { Folder } from "../../files/host.ts";
import type { RestoreContext } from "../context.ts";
import type { TargetFolder } from "../target/target-folders.ts";
import { assertOfOne } from "../faults.ts";
import { codeOf } from "../../files/errors.ts";
import { giveName } from "../contents/write-file.ts";
import { makeTemporary, removeOwn } from "../target/place.ts";

/** A further name of what another entry of its group is. */
export interface LinkJob {
  readonly parent: TargetFolder;
  readonly name: Uint8Array;
  readonly type: Entry["type"];
  readonly group: number;
}

/** Joins hard links, after the first entries of their groups have been written. */
export interface HardLinker {
  add(job: LinkJob): void;
  /** Those added since the last call. */
  take(): readonly LinkJob[];
  /**
   * Gives the first entry of the group one more name.
   *
   * @returns `first` if the group has no first entry any more, `alone` if the file system does not join
   *   the files; the entry is then still to be restored
   */
  join(job: LinkJob): "joined" | "first" | "alone";
}

const SLASH = 0x2f;
/** The file system joins no files, or not these, or the first one is gone. */
const ON_ITS_OWN = new Set([
  "ENOENT",
  "ENOTDIR",
  "EXDEV",
  "EMLINK",
  "EPERM",
  "EACCES",
  "ENOTSUP",
  "EOPNOTSUPP",
  "ENOSYS",
]);

export function hardLinker(context: RestoreContext): HardLinker {
  const { host, folders, links, report } = context;
  let jobs: LinkJob[] = [];

  /** Runs with the folder of a path open. */
  const inFolder = <T>(path: Uint8Array, run: (folder: Folder, name: Uint8Array) => T): T => {
    const root = folders.open(folders.root);
    const slash = path.lastIndexOf(SLASH);
    const name = path.subarray(slash + 1);
    if (slash === -1) return run(root, name);
    const folder = host.openBeneath(root, path.subarray(0, slash));
    try {
      return run(folder, name);
    } finally {
      host.close(folder);
    }
  };

  const link = (job: LinkJob, first: Uint8Array): void => {
    const { parent, name } = job;
    const folder = folders.open(parent);
    inFolder(first, (firstFolder, firstName) => {
      const there = parent.isNew ? undefined : host.stat(folder, name);
      const stat = host.stat(firstFolder, firstName);
      const isJoined =
        there !== undefined && there.inode === stat?.inode && there.device === stat.device;
      // A rename over another name of the same file would do nothing.
      if (!isJoined) {
        const { temporary } = makeTemporary(host, folder, name, parent.hasTemporaryNames, (given) =>
          host.linkFile(firstFolder, firstName, folder, given),
        );
        try {
          giveName(context, folder, temporary, stat, name);
        } catch (error) {
          removeOwn(host, folder, temporary, stat);
          throw error;
        }
      }
      report.entry(job, job.type, isJoined ? "unchanged" : "linked");
    });
  };

  return {
    add(job) {
      jobs.push(job);
    },
    take() {
      const taken = jobs;
      jobs = [];
      return taken;
    },
    join(job) {
      const first = links.at(job.group);
      if (first === undefined) return "first";
      try {
        link(job, first);
        return "joined";
      } catch (error) {
        assertOfOne(error);
        const code = codeOf(error) ?? "";
        if (ON_ITS_OWN.has(code)) {
          report.warning(job, `it is not joined with the other names of its file: ${code}`);
          return "alone";
        }
        report.error(job, error);
        return "joined";
      }
    },
  };
}
