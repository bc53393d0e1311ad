import type { Command } from "../command.ts";
import type { RepositoryEntry } from "../config/config.ts";
import type { Origin } from "../config/layers.ts";
import { configPath } from "../config/load-config.ts";
import { formatPeriod } from "../config/times.ts";
import { identityLabel, recipientLabel, safeText, redactedUrl } from "../config/redacted.ts";
import { CONFIGURABLE, keyOf, type Resolved, resolveSettings } from "../config/resolve.ts";
import type { StoreSource } from "../config/settings.ts";
import type { IdentitySource } from "../keys/identity-source.ts";
import type { RecipientSource } from "../keys/recipient-source.ts";
import { aligned, type Row } from "../output/text.ts";

/** The defaults; null for none. */
const DEFAULTS: Readonly<Record<string, string | null>> = {
  chunkSize: "4M",
  compress: "none",
  padding: "true",
  workers: "one per core, up to 8",
};

interface SettingView {
  readonly value: string | readonly string[] | null;
  readonly from: Origin["kind"];
  readonly where: string | null;
}

export const config: Command = async (invocation, session) => {
  const resolved = await resolveSettings(invocation, ["store", ...CONFIGURABLE]);
  const { options, env } = invocation;
  const file = configPath(options["config"], env).path;
  const settings: [name: string, view: SettingView][] = ["store", ...CONFIGURABLE].map((name) => [
    keyOf(name),
    settingView(name, resolved),
  ]);
  const passphrase = env["IDK_PASSPHRASE"] ? "IDK_PASSPHRASE" : null;
  const stores = Array.from(resolved.config?.stores ?? [], ([name, entry]) => ({
    name,
    url: redactedUrl(entry.url.value),
  }));
  const rows: Row[] = [
    ["config", resolved.config === undefined ? `none (${safeText(file)})` : safeText(file)],
    ...settings.map(([name, view]): Row => [name, describe(name, view, resolved)]),
    [
      "passphrase",
      passphrase === null ? "prompted for if needed" : `set, not shown (${passphrase})`,
    ],
  ];
  const entry = resolved.config?.stores.get(resolved.storeName ?? "")?.repository;
  if (entry !== undefined) {
    rows.push(["repository", `${entry.id.value}  (${safeText(`${file}:${entry.line}`)})`]);
    rows.push(
      ...repositoryFields(entry).flatMap(([name, value]): Row[] =>
        value === null ? [] : [[`  ${name}`, typeof value === "string" ? value : value.join(", ")]],
      ),
    );
  }
  const others = stores.filter(({ name }) => name !== resolved.storeName);
  await session.out.result(
    aligned([...rows, ...others.map(({ name, url }): Row => [`  --store ${name}`, url])]).join(
      "\n",
    ),
    {
      config: resolved.config === undefined ? null : file,
      store: resolved.storeName ?? null,
      settings: Object.fromEntries(settings),
      passphrase: passphrase === null ? null : { from: "environment", where: passphrase },
      repository:
        entry === undefined
          ? null
          : { id: entry.id.value, ...Object.fromEntries(repositoryFields(entry)) },
      stores,
    },
  );
};

/** What the configuration has of the repository, by its keys. */
function repositoryFields({
  owner,
  gracePeriod,
  writer,
  names,
}: RepositoryEntry): [key: string, value: string | readonly string[] | null][] {
  return [
    ["owner", safeText(owner.value)],
    ["grace-period", formatPeriod(gracePeriod.value)],
    ["writer", writer === undefined ? null : safeText(writer.value)],
    ["names", names === undefined ? null : names.value.map(safeText)],
  ];
}

function settingView(name: string, { values, sources }: Resolved): SettingView {
  const found = sources[name];
  const value = values[name];
  if (found === undefined || value === undefined) {
    return { value: DEFAULTS[name] ?? null, from: "default", where: null };
  }
  const { kind: from, where } = found.origin;
  return { value: printableValue(name, value), from, where: safeText(where) };
}

function printableValue(name: string, value: unknown): string | readonly string[] {
  switch (name) {
    case "store":
      return redactedUrl((value as StoreSource).url);
    case "identity":
      return (value as readonly IdentitySource[]).map(identityLabel);
    case "recipients":
      return (value as readonly RecipientSource[]).map(recipientLabel);
    default:
      return safeText(String(value));
  }
}

function describe(
  name: string,
  { value, from, where }: SettingView,
  { storeName }: Resolved,
): string {
  const text = typeof value === "string" || value === null ? (value ?? "none") : value.join(", ");
  const storeLabel = name === "store" && storeName !== undefined ? `${storeName}: ` : "";
  return `${storeLabel}${text}  (${where ?? from})`;
}
