/** The connectors that need no third-party package. */
export { csv } from './formats/csv.ts';
export type { CsvColumn, CsvOptions } from './formats/csv.ts';
export type { Format, LineDecoder, LineEncoder } from './formats/format.ts';
export { lines } from './formats/lines.ts';
export { ndjson } from './formats/ndjson.ts';
export { fileSource } from './file-source.ts';
export type { FileSourceOptions, MalformedPolicy } from './file-source.ts';
export { fileSink } from './file-sink.ts';
export type { FileSinkOptions, RollingPolicy } from './file-sink.ts';
export { basePath, dateTimeBuckets } from './parts/buckets.ts';
export type { BucketAssigner, BucketContext, DateTimeBucketOptions } from './parts/buckets.ts';
export { datagen, fromCollection, sequence } from './generated/datagen.ts';
export type { DatagenOptions } from './generated/datagen.ts';
export { socketSource } from './socket-source.ts';
export type { SocketSourceOptions } from './socket-source.ts';
