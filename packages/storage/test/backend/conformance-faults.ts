import { expect, test } from "bun:test";
import type { Backend } from "../../src/backend/backend.ts";
import { memory } from "../../src/backend/memory.ts";
import { backendConformance } from "../../src/testing/index.ts";

/** A wrong backend, and parts of the names of cases that must notice. */
export interface Fault {
  readonly fault: string;
  readonly noticedBy: readonly string[];
  /** What is spoilt; by default `memory()`, which attests nothing and cannot go on behind a name. */
  readonly right?: () => Backend;
  readonly spoil: (right: Backend) => Partial<Backend>;
  /** Another place at each opening. */
  readonly forgets?: true;
}

/** A test for each fault: every case that must notice it fails over a backend that has it. */
export function testFaults(faults: readonly Fault[]): void {
  for (const { fault, noticedBy, right = () => memory(), spoil, forgets = false } of faults) {
    test(`the suite notices a backend that ${fault}`, async () => {
      const build = (): Backend => {
        const inner = right();
        return { ...inner, ...spoil(inner) };
      };
      for (const part of noticedBy) {
        expect(await failedCases(part, build, forgets)).not.toBeEmpty();
      }
    });
  }
}

/** Which cases fail, of those whose names have the part. */
async function failedCases(
  part: string,
  build: () => Backend,
  forgets: boolean,
): Promise<string[]> {
  const open = () => {
    const backend = build();
    return { backend, reopen: () => (forgets ? build() : backend) };
  };
  const failed: string[] = [];
  for (const { name, run } of backendConformance({ open })) {
    if (name.includes(part)) await run().catch(() => failed.push(name));
  }
  return failed;
}
