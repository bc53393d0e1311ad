import { abortCases } from "./abort-cases.ts";
import { attestationCases } from "./attestation-cases.ts";
import { blobCases } from "./blob-cases.ts";
import type { Case } from "./cases.ts";
import { listCases } from "./list-cases.ts";
import { raceCases } from "./race-cases.ts";
import type { Backend } from "../backend/backend.ts";

/** Where the blobs of one case are kept. */
export interface BackendPlace {
  /** A handle on the place, which is empty. */
  readonly backend: Backend;
  /**
   * A second handle on the same place, as another process would have it. Where blobs live and die
   * with the first handle, that handle itself.
   */
  reopen(): Backend | Promise<Backend>;
  /** Removes the place, after its handles have been closed. */
  cleanup?(): void | Promise<void>;
}

export interface ConformanceOptions {
  /** Makes a new empty place. Each case has its own, so cases may run in any order or together. */
  open(): BackendPlace | Promise<BackendPlace>;
  /**
   * How many blobs the longest listing has. By default 300. For a backend that lists page by page,
   * more than fill a page.
   */
  readonly listed?: number;
}

export interface ConformanceCase {
  /** What is expected, as a sentence about the backend, such as `replaces a blob`. */
  readonly name: string;
  /** Resolves where the backend does that, and rejects with an AssertionError where not. */
  run(): Promise<void>;
}

/**
 * The rules of the `Backend` contract as a list of cases, for any test runner:
 *
 *     for (const { name, run } of backendConformance({ open })) test(name, run);
 *
 * The whole takes seconds on a local backend. Over a network, allow each case a minute.
 */
export function backendConformance(options: ConformanceOptions): readonly ConformanceCase[] {
  const cases = [
    ...blobCases,
    ...attestationCases,
    ...listCases(options.listed ?? 300),
    ...raceCases,
    ...abortCases,
  ];
  return cases.map(({ name, check }) => ({ name, run: () => runIn(options, check) }));
}

async function runIn(options: ConformanceOptions, check: Case["check"]): Promise<void> {
  const place = await options.open();
  const handles = new Set([place.backend]);
  const reopen = async (): Promise<Backend> => {
    const handle = await place.reopen();
    handles.add(handle);
    return handle;
  };
  try {
    await check({ backend: place.backend, reopen });
  } finally {
    for (const handle of handles) await handle.close?.();
    await place.cleanup?.();
  }
}
