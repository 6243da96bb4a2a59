/**
 * What a job compiles to. Production builds it anew for each process and for each attempt of each
 * task, so that attempts share nothing, and that is what happens here too; unless a schedule says
 * that its functions keep nothing, and building them over and over is not what it is about.
 */
import {
  prepareJob,
  rebuildJob,
  withParallelism,
} from '@weir/core/internal/jobmanager/prepare-run';
import type { JobInputs, PreparedJob } from '@weir/core/internal/jobmanager/prepare-run';
import type { Job } from '@weir/core/internal/api/job';

export class PreparedJobs {
  readonly #job: Job;
  readonly #inputs: JobInputs;
  readonly #byParallelism: Map<number, PreparedJob> | null;

  constructor(job: Job, inputs: JobInputs, isShared: boolean) {
    this.#job = job;
    this.#inputs = inputs;
    this.#byParallelism = isShared ? new Map() : null;
  }

  prepare(parallelism: number): PreparedJob {
    const known = this.#byParallelism?.get(parallelism);
    if (known !== undefined) return known;
    const prepared = prepareJob(this.#job, this.#inputsFor(parallelism));
    this.#byParallelism?.set(parallelism, prepared);
    return prepared;
  }

  /** For another attempt. */
  rebuild(parallelism: number, known: PreparedJob): PreparedJob {
    if (this.#byParallelism !== null) return known;
    return rebuildJob(this.#job, this.#inputsFor(parallelism), known);
  }

  #inputsFor(parallelism: number): JobInputs {
    const configuration = withParallelism(this.#inputs.configuration, parallelism);
    return { ...this.#inputs, configuration };
  }
}
