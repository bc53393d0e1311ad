import type { Backend } from "@idk/storage";
import type { StoreLocation } from "@idk/storage/url";
import { type Findings, NEEDS, probe, probeReading } from "../stores/probe.ts";
import { encryptionFailure, failuresOf } from "../stores/remedies.ts";
import { type Check, failed, warning, passed } from "./check.ts";

/** Clock skew in milliseconds that is worth a warning. Beyond 15 minutes, stores reject requests. */
const SKEW_WARNED = 60_000;
const SKEW_MAX = 15 * 60_000;

/**
 * Tests a store by writing, reading and removing one small blob, or without writing.
 */
export async function checkStore(
  backend: Backend,
  location: StoreLocation,
  { readOnly }: { readonly readOnly: boolean },
  signal: AbortSignal,
): Promise<Check[]> {
  const found = readOnly ? await probeReading(backend, signal) : await probe(backend, signal);
  const failures = [...failuresOf(found, location.kind), ...encryptionFailure(found, location)];
  const checks: Check[] = failures.map(({ check, code, message, remedy }) =>
    failed(check, code, message, remedy),
  );
  const done = NEEDS.filter((need) => found.needs[need].ok === true);
  if (found.needs.reachable.ok) {
    checks.unshift(passed("store", `${backend.description}: ${done.join(", ")}`));
  }
  checks.push(...clockCheck(backend));
  if (found.needs.reachable.ok) checks.push(...factsOf(found, readOnly));
  if (found.left !== undefined) {
    const message = `the test blob could not be removed: ${found.left}`;
    checks.push(warning("round trip", message, `idk rm ${found.left}`));
  }
  return checks;
}

function clockCheck({ clockAheadMs }: Backend): Check[] {
  const ahead = clockAheadMs?.();
  if (ahead === undefined) return [];
  const seconds = Math.round(Math.abs(ahead) / 1000);
  const message = `this machine is ${seconds} s ${ahead < 0 ? "behind" : "ahead of"} the store`;
  const remedy = "set this machine's clock, for example by NTP: timedatectl set-ntp true";
  if (Math.abs(ahead) < SKEW_WARNED) {
    return [passed("clock", seconds < 2 ? "matches the store's clock" : message)];
  }
  return [
    Math.abs(ahead) < SKEW_MAX
      ? warning("clock", `${message}; it rejects requests from 15 minutes on`, remedy)
      : failed("clock", "permission", message, remedy),
  ];
}

function factsOf(found: Findings, readOnly: boolean): Check[] {
  const { roundTripMs } = found;
  const time =
    roundTripMs === undefined ? "" : `; ${Number(roundTripMs.toPrecision(2))} ms per request`;
  if (readOnly) {
    return [
      passed("round trip", `not tested (--read-only)${time}`),
      passed("capabilities", "not tested: needs a write"),
    ];
  }
  const able = [
    ...(found.attestation ? ["verifies SHA-256"] : []),
    ...(found.conditionalPut ? ["conditional writes"] : []),
    ...(found.versions ? ["versions"] : []),
    ...(found.encryption ? [`encrypts at rest: ${found.encryption}`] : []),
  ].join(", ");
  return [
    ...(found.needs.read.ok ? [passed("round trip", `read back a test blob${time}`)] : []),
    // If it is undefined, a failure above explains why.
    ...(found.attestation === undefined
      ? []
      : [passed("capabilities", able || "basic storage, which is enough")]),
  ];
}
