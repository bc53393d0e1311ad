import { resolveSettings } from "./config/resolve.ts";
import { readSettings, type SettingsOf, type Shape } from "./config/settings.ts";
import type { Invocation } from "./invocation.ts";
import type { Session } from "./session.ts";

export type Command = (invocation: Invocation, session: Session) => Promise<void>;

/** Makes a command from the settings it takes and the function that runs it. */
export function command<S extends Shape>(
  shape: S,
  run: (settings: SettingsOf<S>, session: Session) => Promise<void>,
): Command {
  return async (invocation, session) => {
    const { values, labels } = await resolveSettings(invocation, Object.keys(shape));
    await run(readSettings(shape, values, labels), session);
  };
}
