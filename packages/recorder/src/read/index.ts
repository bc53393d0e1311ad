export type {
  BodyOmission,
  Exchange,
  Header,
  RecordedBody,
  RecordedRequest,
  RecordedResponse,
} from "../record/exchange.ts";
export type { RunTotals, SegmentMetadata } from "../segments/metadata.ts";
export {
  type ArchiveProblem,
  type ArchiveReport,
  checkArchive,
  type RunReport,
} from "./check-archive.ts";
export { readExchanges, type ReadExchangesOptions } from "./exchanges.ts";
export { type ExchangeFilter, routeOf } from "./filter.ts";
export { harText } from "./har.ts";
export {
  type ListedSegment,
  listSegments,
  type ListSegmentsOptions,
  type ReadFault,
} from "./list-segments.ts";
export type { ReadSegmentsOptions } from "./segments.ts";
