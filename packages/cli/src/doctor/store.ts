import type { Backend } from "@idk/storage";
import type { StoreLocation } from "@idk/storage/url";
import { type Findings, NEEDS, probe, probeReading } from "../stores/probe.ts";
import { encryptionFailure, failuresOf } from "../stores/remedies.ts";
import { type Check, failed, warning, well } from "./check.ts";

/** From how many milliseconds on a clock is worth a word; at 15 minutes stores refuse to answer. */
const SKEW_WARNED = 60_000;
const SKEW_MAX = 15 * 60_000;

/**
 * Tries a store: with one small blob that goes through it and is removed again, or with what can be
 * seen without writing.
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
    checks.unshift(well("store", `${backend.description}: ${done.join(", ")}`));
  }
  checks.push(...clockCheck(backend));
  if (found.needs.reachable.ok) checks.push(...factsOf(found, readOnly));
  if (found.left !== undefined) {
    const message = `the blob that was tried stays in the store: ${found.left}`;
    checks.push(warning("round trip", message, `idk rm ${found.left}`));
  }
  return checks;
}

function clockCheck({ clockAheadMs }: Backend): Check[] {
  const ahead = clockAheadMs?.();
  if (ahead === undefined) return [];
  const seconds = Math.round(Math.abs(ahead) / 1000);
  const message = `this machine is ${seconds} s ${ahead < 0 ? "behind" : "ahead of"} the store`;
  const remedy = "set this machine's clock, by NTP for example: timedatectl set-ntp true";
  if (Math.abs(ahead) < SKEW_WARNED) {
    return [well("clock", seconds < 2 ? "the same time as at the store" : message)];
  }
  return [
    Math.abs(ahead) < SKEW_MAX
      ? warning("clock", `${message}; from 15 minutes on it refuses requests`, remedy)
      : failed("clock", "permission", message, remedy),
  ];
}

function factsOf(found: Findings, readOnly: boolean): Check[] {
  const { roundTripMs } = found;
  const time =
    roundTripMs === undefined ? "" : `; ${Number(roundTripMs.toPrecision(2))} ms a request`;
  if (readOnly) {
    return [
      well("round trip", `not tried, as told${time}`),
      well("capabilities", "not tried: that takes writing"),
    ];
  }
  const able = [
    ...(found.attestation ? ["attests SHA-256"] : []),
    ...(found.conditionalPut ? ["conditional writes"] : []),
    ...(found.versions ? ["versions"] : []),
    ...(found.encryption ? [`encrypts at rest: ${found.encryption}`] : []),
  ].join(", ");
  return [
    ...(found.needs.read.ok ? [well("round trip", `a blob came back as it was put${time}`)] : []),
    // Where it was not found out, something has failed that says more.
    ...(found.attestation === undefined
      ? []
      : [well("capabilities", able || "plain storage, which is enough")]),
  ];
}
