import { type Command, command } from "../command.ts";
import { type Findings, NEEDS, type Need, probe } from "../probe.ts";
import { type CheckFailure, encryptionFailure, failuresOf } from "../store-failures.ts";
import { Failure } from "../failures.ts";
import { type Row, aligned, count, printable } from "../text.ts";
import { openBackend } from "../open-store.ts";
import { store } from "../settings.ts";
import { worstOf } from "../exit-codes.ts";

export const storeCheck: Command = command({ target: store }, async (settings, session) => {
  const { out, signal } = session;
  await using backend = await openBackend(settings.target, session);
  const found = await probe(backend, signal);
  const failures = [
    ...failuresOf(found, settings.target.kind),
    ...encryptionFailure(found, settings.target),
  ];
  await out.result(describe(backend.description, found, failures), {
    store: backend.description,
    ok: failures.length === 0,
    ...Object.fromEntries(NEEDS.map((need) => [need, found.needs[need].ok ?? null])),
    attestation: found.attestation ?? null,
    conditionalPut: found.conditionalPut ?? null,
    versions: found.versions ?? null,
    encryption: found.encryption ?? null,
    roundTripMs: found.roundTripMs ?? null,
    failures,
  });
  await out.flush();
  if (found.left !== undefined) {
    await out.note(`idk: note: the probe stays in the store: idk rm ${found.left}`);
  }
  throwIfFailed(failures);
});

function throwIfFailed(failures: readonly CheckFailure[]): void {
  if (failures.length === 0) return;
  const code = worstOf(failures.map(({ code }) => code));
  throw new Failure(code, `${count(failures.length, "check")} failed`);
}

function describe(store: string, found: Findings, failures: readonly CheckFailure[]): string {
  const { needs, roundTripMs, encryption = "unknown" } = found;
  const need = (name: Need): string => (needs[name].ok === undefined ? "not tried" : "yes");
  const facts: [string, string][] = [
    ...NEEDS.map((name): [string, string] => [name, need(name)]),
    ["attestation", yesOrNo(found.attestation, ATTESTATION)],
    ["conditional put", yesOrNo(found.conditionalPut)],
    ["versions", yesOrNo(found.versions, VERSIONS)],
    ["encryption", encryption || "none at rest by the store"],
    [
      "round trip",
      roundTripMs === undefined ? "unknown" : `${Number(roundTripMs.toPrecision(2))} ms`,
    ],
  ];
  const rows = facts.flatMap(([name, fact]): Row[] => {
    const failed = failures.find(({ check }) => check === name);
    if (failed === undefined) return [[name, fact]];
    return [
      [name, `NO: ${printable(failed.message)}`],
      ["", `→ ${failed.remedy}`],
    ];
  });
  return aligned([["store", printable(store)], ...rows]).join("\n");
}

type Meaning = Readonly<Record<"yes" | "no", string>>;

const ATTESTATION: Meaning = {
  yes: "yes: it keeps the SHA-256 of what it received, for `idk verify --attested`",
  no: "no: `idk verify` has to read every blob",
};
const VERSIONS: Meaning = {
  yes: "yes: what is overwritten or deleted by others can be kept",
  no: "no",
};

function yesOrNo(
  value: boolean | undefined,
  { yes, no }: Meaning = { yes: "yes", no: "no" },
): string {
  if (value === undefined) return "unknown";
  return value ? yes : no;
}
