export { backendConformance } from "./conformance.ts";
export type { BackendPlace, ConformanceCase, ConformanceOptions } from "./conformance.ts";
