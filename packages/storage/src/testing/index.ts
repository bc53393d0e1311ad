export { backendConformance } from "./conformance.ts";
export type { BackendFixture, ConformanceCase, ConformanceOptions } from "./conformance.ts";
