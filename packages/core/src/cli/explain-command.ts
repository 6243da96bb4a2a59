/**
 * `weir explain`: builds the graph of a job and shows it, without running anything. What a run
 * refuses before it reads anything is shown with the plan, and then ends the command as the run.
 */
import { buildStreamGraph } from '../api/build-stream-graph.ts';
import type { BuiltJob } from '../api/build-stream-graph.ts';
import { parseJobArguments } from '../api/job-arguments.ts';
import { messageOf } from '../base/errors.ts';
import { silentLogger } from '../base/logger.ts';
import { didYouMean } from '../base/nearest.ts';
import { seededRandom } from '../base/random.ts';
import { compileJobGraph } from '../graph/compile-job-graph.ts';
import { explain, explainJob } from '../graph/explain.ts';
import {
  checkRequiredGuarantee,
  explainGuarantees,
  guaranteeFacts,
  guaranteeWarnings,
} from '../graph/explain-guarantee.ts';
import { planGuarantees } from '../graph/guarantee-planner.ts';
import { guaranteeSettings } from '../jobmanager/guarantee-settings.ts';
import { outerAnswers, throwRefusals } from '../jobmanager/outer-facts.ts';
import type { OuterAnswers } from '../jobmanager/outer-facts.ts';
import { readConfiguration } from './configuration-layers.ts';
import type { Environment } from './environment.ts';
import { EXIT_OK } from './exit-codes.ts';
import { usageError } from './options.ts';
import type { ParsedOptions } from './options.ts';
import { parallelismOf } from './run-command.ts';

export async function explainCommand(
  options: ParsedOptions,
  environment: Environment,
): Promise<number> {
  const [jobPath, ...jobArguments] = options.words;
  if (jobPath === undefined)
    throw usageError('weir explain: name the job, as in: weir explain job.ts');
  const parallelism = parallelismOf(options, 'weir explain');
  const configuration = await readConfiguration(environment, {
    file: options.value('--config'),
    properties: options.values('-D'),
  });
  const { job } = await environment.loadJob(jobPath);
  const built = buildStreamGraph(job, { args: parseJobArguments(jobArguments), configuration });
  const settings = built.settings.configuration;
  const maxParallelism = settings.get('pipeline.max-parallelism');
  const compiled = compileJobGraph(built.graph, {
    defaultParallelism: parallelism ?? settings.get('parallelism.default'),
    ...(maxParallelism !== null && { defaultMaxParallelism: maxParallelism }),
  });

  const defaultParallelism = parallelism ?? settings.get('parallelism.default');
  const asked = await askOuter(built, environment, defaultParallelism);
  const guarantees = planGuarantees(
    built.graph,
    { ...guaranteeSettings(settings), defaultParallelism },
    asked.facts,
  );
  const warnings = [
    ...warningsOf(built),
    ...compiled.warnings,
    ...asked.unanswered,
    ...guaranteeWarnings(guarantees),
  ];
  const refusals = asked.refusals.map(messageOf);
  const { terminal } = environment;
  if (options.has('--json')) {
    const facts = {
      ...explainJob(compiled, built.graph),
      guarantees: guaranteeFacts(guarantees),
      refusals,
      warnings,
    };
    terminal.print(JSON.stringify(facts, null, 2));
  } else {
    terminal.print(explain(compiled, built.graph).trimEnd());
    terminal.print(['', ...explainGuarantees(guarantees, refusals)].join('\n'));
    for (const warning of warnings) terminal.warn(`Warning: ${warning}`);
  }
  throwRefusals(asked.refusals);
  checkRequiredGuarantee(guarantees);
  return EXIT_OK;
}

/** What outer systems say that answer now. */
function askOuter(
  { graph }: BuiltJob,
  { clock, fileSystem }: Environment,
  defaultParallelism: number,
): Promise<OuterAnswers> {
  const random = seededRandom(clock.wallTime());
  const io = { clock, fileSystem, random, logger: silentLogger };
  return outerAnswers(graph, io, defaultParallelism);
}

function warningsOf({ settings }: BuiltJob): readonly string[] {
  const unread = settings.argumentsUnread.map(
    (name) =>
      `the job never reads its argument "${name}"${didYouMean(name, settings.argumentsRead)}`,
  );
  return [...settings.configuration.warnings, ...settings.warnings, ...unread];
}
