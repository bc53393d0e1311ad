// Runs the scenarios one after another, for a runtime without a test runner of ours.
import { scenarios } from "./scenarios.ts";

for (const { name, run } of scenarios) {
  try {
    await run();
    console.log(`pass ${name}`);
  } catch (error) {
    console.log(`fail ${name}`);
    console.error(name, error);
  }
}
