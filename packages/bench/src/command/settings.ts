import type { OptionValue, Suite } from "../suite.ts";

/** What a command line asks for. */
export type Settings =
  | { readonly action: "help"; readonly text: string }
  | { readonly action: "list" }
  | { readonly action: "json-schema" }
  | ({ readonly action: "run" } & RunSettings);

export interface RunSettings {
  readonly suites: readonly Suite[];
  readonly quick: boolean;
  readonly verbose: boolean;
  /** Bytes. */
  readonly sizes?: readonly number[] | undefined;
  readonly iterations?: number | undefined;
  readonly seed: number;
  readonly store?: string | undefined;
  /** Below the one of the store; ends with a slash where it is not empty. */
  readonly prefix: string;
  /** Of single suites, by name. */
  readonly options: Readonly<Record<string, OptionValue>>;
  readonly files: OutputFiles;
  readonly baseline?: string | undefined;
  /** 0.1 is 10 %. */
  readonly tolerance?: number | undefined;
}

/** Files to write; `-` is standard output. */
export interface OutputFiles {
  readonly json?: string | undefined;
  readonly html?: string | undefined;
  readonly markdown?: string | undefined;
  readonly saveBaseline?: string | undefined;
}
