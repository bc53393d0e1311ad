/** How many chunks of a content are in flight at once. */
import { type Backend, type Store, wrapBackend } from "@idk/storage";
import { CHUNK } from "../../harness/content.ts";
import { exactTarget } from "../../harness/targets.ts";
import type { Target } from "../../report/report.ts";
import { IN_FLIGHT, type Passes, type Way, randomContents, tasksOf } from "./passes.ts";

/** Milliseconds for which each request waits for the next ones, which take far less to be prepared. */
const GATHERING = 250;

/**
 * A target for the chunks that an operation of a store with default settings has in flight at once. It is
 * exact, and needed because a store nearby is hardly slower one chunk after another.
 */
export async function inFlightTarget(
  what: string,
  way: Way,
  backend: Backend,
  open: (backend: Backend) => Store,
  passesOf: (store: Store) => Passes,
): Promise<Target> {
  let [now, most] = [0, 0];
  const held =
    <Call extends unknown[], T>(request: (...call: Call) => Promise<T>) =>
    async (...call: Call): Promise<T> => {
      now += 1;
      most = Math.max(most, now);
      await new Promise((resolve) => setTimeout(resolve, GATHERING));
      return request(...call).finally(() => (now -= 1));
    };
  await using store = open(wrapBackend(backend, way === "put" ? { put: held } : { get: held }));
  const contents = randomContents((IN_FLIGHT + 1) * CHUNK, 1);
  const { put, get } = tasksOf(passesOf(store), contents, { who: "store" });
  await put.run();
  await get.run();
  return exactTarget(`${what}: chunks in flight at once`, most, "count", { least: IN_FLIGHT });
}
