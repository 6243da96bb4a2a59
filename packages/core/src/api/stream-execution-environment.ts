/**
 * What the function given to `job` works with: sources, settings, arguments. Made anew for every
 * attempt, so nothing that the job builds is shared between attempts.
 */
import type { ConfigSettings, ConfigValue } from '../base/config-options.ts';
import type { Configuration } from '../base/configuration.ts';
import type { Duration } from '../base/duration.ts';
import { CheckpointConfig } from './checkpoint-config.ts';
import type { CheckpointingMode } from './checkpoint-config.ts';
import { collectionSource } from './collection-source.ts';
import { graphError, requireMethods } from './function-checks.ts';
import type { WatermarkStrategy } from './functions.ts';
import { JobArguments } from './job-arguments.ts';
import type { ArgumentValues } from './job-arguments.ts';
import type { MapLocation } from './location.ts';
import { restartStrategySettings } from './restart-strategy.ts';
import type { RestartStrategy } from './restart-strategy.ts';
import { SettingsInCode } from './settings-in-code.ts';
import type { Source } from './source.ts';
import { StreamGraphBuilder } from './stream-graph-builder.ts';
import type { OperatorSpec, StreamGraph } from './stream-graph.ts';
import { SingleOutputStreamOperator } from './streams/single-output-stream-operator.ts';
import { callSite } from './streams/stream-context.ts';
import type { StreamContext } from './streams/stream-context.ts';
import { noWatermarks } from './watermarks.ts';

export interface SourceOptions<T> {
  /** Identifies the source's positions in snapshots; see `uid`. */
  readonly uid?: string;
  /** Shown as `Source: name`; by default the source's own name. */
  readonly name?: string;
  /** How event time is read and how late records may be; by default there is none. */
  readonly watermarks?: WatermarkStrategy<T>;
  /** Number of subtasks that read. */
  readonly parallelism?: number;
}

/** End-to-end guarantees, from the weakest. */
export type Guarantee = NonNullable<ConfigValue<'weir.guarantee'>>;

export interface EnvironmentOptions {
  readonly jobName: string;
  readonly args: ArgumentValues;
  /** What the run was given by file and `-D`. */
  readonly configuration: Configuration;
  readonly mapLocation: MapLocation | undefined;
  readonly printLine: ((line: string) => void) | null;
}

export class StreamExecutionEnvironment {
  readonly jobName: string;
  /** The job's arguments, by name and type: `env.args.string('input')`. */
  readonly args: JobArguments;
  /** Settings of checkpoints; `enableCheckpointing` switches them on. */
  readonly checkpointConfig: CheckpointConfig;
  readonly #settings: SettingsInCode;
  readonly #context: StreamContext;

  /** Jobs get theirs from `job(name, (env) => …)`. */
  constructor({ jobName, args, configuration, mapLocation, printLine }: EnvironmentOptions) {
    this.jobName = jobName;
    this.args = new JobArguments(args, mapLocation);
    this.#settings = new SettingsInCode(configuration, mapLocation);
    this.checkpointConfig = new CheckpointConfig(this.#settings);
    this.#context = {
      graph: new StreamGraphBuilder(jobName),
      mapLocation,
      printLine,
      operatorStream: (node) => new SingleOutputStreamOperator(this.#context, node),
    };
  }

  /**
   * The configuration of the run, including what the job has set so far; what was given at the
   * start of the run wins.
   */
  get configuration(): Configuration {
    return this.#settings.effective();
  }

  /** A stream of what a source reads. */
  fromSource<T>(
    source: Source<T>,
    options: SourceOptions<NoInfer<T>> = {},
  ): SingleOutputStreamOperator<T> {
    return this.#fromSource(source, options, 'fromSource');
  }

  /** A stream of given values, read in order by one subtask. The same values at each start. */
  fromCollection<T>(
    values: readonly T[],
    options: SourceOptions<NoInfer<T>> = {},
  ): SingleOutputStreamOperator<T> {
    if (!Array.isArray(values)) {
      const at = callSite(this.#context, this, 'fromCollection');
      throw graphError(at, 'expected an array of values');
    }
    return this.#fromSource(collectionSource(values), options, 'fromCollection');
  }

  /**
   * Switches periodic checkpoints on.
   * @throws ConfigurationError when the interval is below 10 ms.
   */
  enableCheckpointing(interval: Duration, mode: CheckpointingMode = 'EXACTLY_ONCE'): this {
    const settings = {
      'execution.checkpointing.interval': interval,
      'execution.checkpointing.mode': mode,
    } as const;
    return this.#set(settings, 'enableCheckpointing');
  }

  /** Sets any options by their keys; see `docs/reference/configuration.md`. */
  configure(settings: ConfigSettings): this {
    return this.#set(settings, 'configure');
  }

  /** Number of subtasks of operators that set none of their own; `-p` wins. */
  setParallelism(parallelism: number): this {
    return this.#set({ 'parallelism.default': parallelism }, 'setParallelism');
  }

  /** Number of key groups, the bound of later rescaling. */
  setMaxParallelism(maxParallelism: number): this {
    return this.#set({ 'pipeline.max-parallelism': maxParallelism }, 'setMaxParallelism');
  }

  /** How a failed job is restarted; refused with checkpoints off. */
  setRestartStrategy(strategy: RestartStrategy): this {
    return this.#set(restartStrategySettings(strategy), 'setRestartStrategy');
  }

  /** Runs every operator in a task of its own. */
  disableOperatorChaining(): this {
    const settings = { 'pipeline.operator-chaining.enabled': false };
    return this.#set(settings, 'disableOperatorChaining');
  }

  /** Longest wait of a record for its batch to fill; 0: sent at once. */
  setBufferTimeout(timeout: Duration): this {
    return this.#set({ 'execution.buffer-timeout.interval': timeout }, 'setBufferTimeout');
  }

  /** Time between two watermarks of a source. */
  setAutoWatermarkInterval(interval: Duration): this {
    const settings = { 'pipeline.auto-watermark-interval': interval };
    return this.#set(settings, 'setAutoWatermarkInterval');
  }

  /** Folder for savepoints that are asked for without one: a path or a `file:` URI. */
  setDefaultSavepointDirectory(directory: string): this {
    const settings = { 'execution.checkpointing.savepoint-dir': directory };
    return this.#set(settings, 'setDefaultSavepointDirectory');
  }

  /** Refuses to start the job where a path from a source to a sink guarantees less. */
  requireGuarantee(guarantee: Guarantee): this {
    return this.#set({ 'weir.guarantee': guarantee }, 'requireGuarantee');
  }

  /** Completes the graph: called once, when the job's function has returned. */
  finishGraph(): StreamGraph {
    return this.#context.graph.finish();
  }

  #set(settings: ConfigSettings, method: keyof StreamExecutionEnvironment): this {
    this.#settings.set(settings, this, method);
    return this;
  }

  #fromSource<T>(
    source: Source<T>,
    options: SourceOptions<T>,
    method: 'fromSource' | 'fromCollection',
  ): SingleOutputStreamOperator<T> {
    const at = callSite(this.#context, this, method);
    const expected = 'a source, an object with createEnumerator and createReader';
    requireMethods(at, source, ['createEnumerator', 'createReader'], expected);
    const watermarks = (options.watermarks ?? noWatermarks()) as WatermarkStrategy<unknown>;
    const spec: OperatorSpec = { type: 'source', source, watermarks };
    const name = `Source: ${options.name ?? source.name}`;
    const node = this.#context.graph.addOperator({ at, name, spec, inputs: [] });
    const stream = this.#context.operatorStream<T>(node);
    if (options.uid !== undefined) stream.uid(options.uid);
    if (options.parallelism !== undefined) stream.setParallelism(options.parallelism);
    return stream;
  }
}
