import { expect, test } from "bun:test";
import type { Backend } from "../../../src/backend/backend.ts";
import { memory } from "../../../src/backend/memory.ts";
import { backendConformance } from "../../../src/testing/index.ts";

/** A faulty backend. */
export interface Fault {
  readonly fault: string;
  /** For each part, at least one case with it in its name must fail. */
  readonly detectedBy: readonly string[];
  /** The backend to break; by default `memory()`, without capabilities and listAfter. */
  readonly correct?: () => Backend;
  readonly override: (correct: Backend) => Partial<Backend>;
  /** Whether each reopen starts with empty storage. */
  readonly losesBlobs?: true;
}

/** Tests for each fault that the suite detects it. */
export function testFaults(faults: readonly Fault[]): void {
  for (const {
    fault,
    detectedBy,
    correct = () => memory(),
    override,
    losesBlobs = false,
  } of faults) {
    test(`detects a backend that ${fault}`, async () => {
      const build = (): Backend => {
        const inner = correct();
        return { ...inner, ...override(inner) };
      };
      for (const part of detectedBy) {
        expect(await failedCases(part, build, losesBlobs)).not.toBeEmpty();
      }
    });
  }
}

/** The cases that fail, among those whose names contain the part. */
async function failedCases(
  part: string,
  build: () => Backend,
  losesBlobs: boolean,
): Promise<string[]> {
  const open = () => {
    const backend = build();
    return { backend, reopen: () => (losesBlobs ? build() : backend) };
  };
  const failed: string[] = [];
  for (const { name, run } of backendConformance({ open })) {
    if (name.includes(part)) await run().catch(() => failed.push(name));
  }
  return failed;
}
