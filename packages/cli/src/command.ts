import { type SettingsOf, type Shape, readSettings } from "./settings.ts";
import type { RawSettings } from "./environment.ts";
import type { Session } from "./session.ts";

export type Command = (raw: RawSettings, session: Session) => Promise<void>;

/** A command: the settings it takes and what it does with them. */
export function command<S extends Shape>(
  shape: S,
  run: (settings: SettingsOf<S>, session: Session) => Promise<void>,
): Command {
  return async (raw, session) => run(readSettings(shape, raw), session);
}
