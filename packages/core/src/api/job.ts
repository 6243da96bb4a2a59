/**
 * A job: a name and the function that builds its graph. Plain, and recognised by a registered
 * symbol, so that a job made by one copy of this package runs in another.
 */
import { GraphValidationError } from '../base/errors.ts';
import type { StreamExecutionEnvironment } from './stream-execution-environment.ts';

const JOB: unique symbol = Symbol.for('weir.job') as never;

export interface Job {
  readonly [JOB]: true;
  readonly name: string;
  readonly build: (env: StreamExecutionEnvironment) => void;
}

/**
 * Defines a job, the default export of its module. `build` is called anew for every attempt of
 * every subtask: it must build the same graph each time, and do nothing else.
 * @throws GraphValidationError when the name is empty or `build` is not a synchronous function.
 */
export function job(name: string, build: (env: StreamExecutionEnvironment) => void): Job {
  if (typeof name !== 'string' || name.trim() === '')
    throw new GraphValidationError('job: the name must be a text that is not empty');
  if (typeof build !== 'function')
    throw new GraphValidationError(`job "${name}": expected a function (env) => { … }`);
  if (build.constructor.name.startsWith('Async'))
    throw new GraphValidationError(
      `job "${name}": the function must not be async; await what it needs at the top of the module`,
    );
  return { [JOB]: true, name, build };
}

/** Whether a value, such as the default export of a module, is a job. */
export function isJob(value: unknown): value is Job {
  return typeof value === 'object' && value !== null && JOB in value;
}
