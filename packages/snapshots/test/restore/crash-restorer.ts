/**
 * Restores a folder that was stored by this process itself, and kills it with SIGKILL before call number
 * COUNT of the host. Usage: bun crash-restorer.ts SOURCE TARGET OVERWRITE COUNT
 */
import type { Host } from "../../src/files/host.ts";
import type { Overwrite } from "../../src/restore/options.ts";
import { openHost } from "../../src/files/open-host.ts";
import { restoreWith } from "../../src/restore/restore.ts";
import { snapshotOf } from "./support.ts";

const [source, target, overwrite, count] = process.argv.slice(2);
const host = await openHost();
const { opened } = await snapshotOf(host, source!);
let calls = 0;
const dying = Object.fromEntries(
  Object.entries(host).map(([key, value]) => [
    key,
    typeof value !== "function"
      ? value
      : (...given: unknown[]) => {
          calls += 1;
          if (calls === Number(count)) process.kill(process.pid, "SIGKILL");
          return (value as (...given: unknown[]) => unknown)(...given);
        },
  ]),
) as unknown as Host;
await restoreWith(dying, opened, { target: target!, overwrite: overwrite as Overwrite });
process.stdout.write(`${calls}\n`);
