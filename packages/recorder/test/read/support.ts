import { type Backend, createStore, generateIdentity, type Store } from "@idk/storage";
import { memory } from "@idk/storage/memory";
import type { Exchange } from "../../src/record/exchange.ts";
import {
  encodeSegmentMetadata,
  type RunTotals,
  type SegmentMetadata,
} from "../../src/segments/metadata.ts";

export const identity = await generateIdentity();
export const other = await generateIdentity();

export const RUN = "0123456789abcdef0123456789abcdef";

/** Midnight of a day. */
export const DAY: number = Date.UTC(2026, 10, 20);

/** An archive whose segments a test makes. */
export interface TestArchive {
  readonly backend: Backend;
  /** Opens with the identity. */
  readonly store: Store;
  /** Stores lines as a segment, and returns its address. */
  add(
    lines: readonly (Exchange | string)[],
    metadata?: Partial<SegmentMetadata>,
    recipient?: string,
  ): Promise<string>;
}

export function testArchive(backend: Backend = memory()): TestArchive {
  const store = createStore({ backend, identities: [identity], workers: 0 });
  return {
    backend,
    store,
    async add(lines, metadata = {}, recipient = identity.recipient) {
      const times = lines.flatMap((line) =>
        typeof line === "string" ? [] : [Date.parse(line.time)],
      );
      const text = lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line)));
      return store.put(`${text.join("\n")}${text.length === 0 ? "" : "\n"}`, {
        recipients: [recipient],
        metadata: encodeSegmentMetadata({
          from: Math.min(DAY, ...times),
          to: Math.max(DAY, ...times),
          count: lines.length,
          run: RUN,
          seq: 0,
          totals: totals({ seen: lines.length, stored: lines.length }),
          ...metadata,
        }),
      });
    },
  };
}

export function totals(some: Partial<RunTotals> = {}): RunTotals {
  return { seen: 0, stored: 0, notKept: 0, dropped: {}, bodiesDropped: 0, ...some };
}

/** An exchange that began some milliseconds after midnight. */
export function exchange(number: number, after: number, more: Partial<Exchange> = {}): Exchange {
  return {
    id: `${RUN.slice(0, 12)}-${number}`,
    time: new Date(DAY + after).toISOString(),
    ms: 1.5,
    direction: "in",
    request: {
      method: "GET",
      url: `/items/${number}?a=1`,
      http: "1.1",
      headers: [["host", "a.example"]],
    },
    response: { status: 200, reason: "OK", headers: [] },
    ...more,
  };
}

/** All of an iterable. */
export async function listed<T>(items: AsyncIterable<T>): Promise<T[]> {
  return Array.fromAsync(items);
}
