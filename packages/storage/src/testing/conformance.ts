import { abortCases } from "./abort-cases.ts";
import { metadataCases } from "./metadata-cases.ts";
import { blobCases } from "./blob-cases.ts";
import type { Case } from "./cases.ts";
import { listCases } from "./list-cases.ts";
import { markerCases } from "./marker-cases.ts";
import { raceCases } from "./race-cases.ts";
import type { Backend } from "../backend/backend.ts";

/** The storage for one case. */
export interface BackendFixture {
  /** A backend over empty storage. */
  readonly backend: Backend;
  /**
   * Opens a second backend over the same storage, as another process would. If the blobs exist only
   * within the first backend, returns that one.
   */
  reopen(): Backend | Promise<Backend>;
  /** Removes the storage, after all its backends have been closed. */
  cleanup?(): void | Promise<void>;
}

/** Options of `backendConformance`. */
export interface ConformanceOptions {
  /** Creates new empty storage. Each case calls it, so cases may run in any order or concurrently. */
  open(): BackendFixture | Promise<BackendFixture>;
  /**
   * The number of blobs, and of markers, in the longest listing. By default 300. A backend that lists page by page
   * should set it to more than a page.
   */
  readonly listed?: number;
}

/** One case of the suite, to be run as a test. */
export interface ConformanceCase {
  /** What the backend does, such as `replaces a blob`. */
  readonly name: string;
  /** Resolves if the backend does that, and rejects with an AssertionError otherwise. */
  run(): Promise<void>;
}

/**
 * The rules of the `Backend` contract as a list of cases, for any test runner:
 *
 *     for (const { name, run } of backendConformance({ open })) test(name, run);
 *
 * The suite takes seconds on a local backend. Over a network, allow each case a minute.
 */
export function backendConformance(options: ConformanceOptions): readonly ConformanceCase[] {
  const cases = [
    ...blobCases,
    ...metadataCases,
    ...listCases(options.listed ?? 300),
    ...raceCases,
    ...abortCases,
    ...markerCases(options.listed ?? 300),
  ];
  return cases.map(({ name, check }) => ({ name, run: () => runIn(options, check) }));
}

async function runIn(options: ConformanceOptions, check: Case["check"]): Promise<void> {
  const fixture = await options.open();
  const backends = new Set([fixture.backend]);
  const reopen = async (): Promise<Backend> => {
    const backend = await fixture.reopen();
    backends.add(backend);
    return backend;
  };
  try {
    await check({ backend: fixture.backend, reopen });
  } finally {
    for (const backend of backends) await backend.close?.();
    await fixture.cleanup?.();
  }
}
