/** What a check is: a name, and a function from the repository to the problems it sees. */
import type { Repository } from './repository.ts';

export interface Problem {
  readonly file: string;
  /** 1-based; 0 where the problem is the file as a whole. */
  readonly line: number;
  /** What is wrong and what to do instead. */
  readonly message: string;
}

export interface Check {
  /** A sentence that is true of a tidy repository. */
  readonly name: string;
  run(repository: Repository): readonly Problem[];
}

/** A problem as one line, in the form editors can jump to. */
export function formatProblem(problem: Problem): string {
  const place = problem.line > 0 ? `${problem.file}:${problem.line}` : problem.file;
  return `${place}  ${problem.message}`;
}

export function isTest(path: string): boolean {
  return path.endsWith('.test.ts');
}
