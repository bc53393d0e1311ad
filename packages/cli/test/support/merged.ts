import { expect } from "bun:test";

const RAN = /^ran from [-\d]{10} [:\d]{8} UTC to [-\d]{10} [:\d]{8} UTC\n/mu;

/** What `merge-reports` prints, without the times of the runs, which it must have. */
export function withoutTimes(stdout: string): string {
  expect(stdout).toMatch(RAN);
  return stdout.replace(RAN, "");
}
