import type { Environment, Invocation } from "../invocation.ts";
import type { Session } from "../session.ts";
import type { Config } from "./config.ts";
import { type Sourced, sourced } from "./layers.ts";
import { configPath, defaultConfigExists } from "./load-config.ts";
import { redactedUrl, safeText } from "./redacted.ts";

/**
 * Variables that replace the store or the recipients of the configuration file. Someone else may have
 * set them, for example by a file that a shell loads in a project.
 */
export interface Overrides {
  readonly variables: readonly string[];
  /** The path of the file that they override. */
  readonly config: string;
  /** The store used: its name, or its URL without credentials. */
  readonly store: string;
}

/** The store and the recipients used, for JSON. */
export interface OverrideReport extends Overrides {
  readonly recipients: readonly string[];
}

/** A setting as it is used, and as the file alone would have it. */
interface Replaced {
  readonly used: Sourced | undefined;
  readonly inFile: unknown;
}

/**
 * The endpoint that a variable gives the SDK for a store of the file whose URL has none, and which is
 * not Amazon's then.
 */
export function endpointFromVariable(
  url: string | undefined,
  env: Environment,
): Sourced<string> | undefined {
  if (url === undefined || !/^s3:/iu.test(url) || /[?&]endpoint=/u.test(url)) return undefined;
  for (const name of ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"]) {
    const endpoint = env[name];
    if (endpoint) return sourced(endpoint, "environment", name);
  }
  return undefined;
}

/** @returns undefined if no variable overrides the file */
export function overridesOf(
  { options, env }: Invocation,
  config: Config | undefined,
  store: string | undefined,
  settings: readonly Replaced[],
): Overrides | undefined {
  if (store === undefined) return undefined;
  const usual = configPath(undefined, { ...env, IDK_CONFIG: undefined }).path;
  const { path } = configPath(options["config"], env);
  const other = options["config"] === undefined && path !== usual && defaultConfigExists(usual);
  const variables = [
    ...(other && settings.some(({ used }) => used?.origin.kind === "file") ? ["IDK_CONFIG"] : []),
    ...settings.flatMap(({ used, inFile }) =>
      used?.origin.kind === "environment" && inFile !== undefined && differ(used.value, inFile)
        ? [used.origin.where]
        : [],
    ),
  ];
  if (variables.length === 0) return undefined;
  return { variables, config: other ? usual : (config?.path ?? usual), store: redactedUrl(store) };
}

function differ(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) !== JSON.stringify(b);
}

/** Recipients printed in a note. */
const SHOWN = 4;

/**
 * Prints the store and the recipients if variables override the configuration file, before anything
 * is stored.
 *
 * @returns the same for JSON, to be spread into a result
 */
export async function reportOverrides(
  overrides: Overrides | undefined,
  recipients: readonly string[],
  { out }: Session,
): Promise<{ readonly override?: OverrideReport }> {
  if (overrides === undefined) return {};
  const { variables, config, store } = overrides;
  if (!out.json) {
    const others = recipients.length - SHOWN;
    const readers = [...recipients.slice(0, SHOWN), ...(others > 0 ? [`${others} others`] : [])];
    const verb = variables.length === 1 ? "overrides" : "override";
    await out.note(
      `idk: storing in ${store} for ${readers.join(", ")}: ` +
        `${variables.join(" and ")} ${verb} ${safeText(config)}`,
    );
  }
  return { override: { ...overrides, recipients } };
}
