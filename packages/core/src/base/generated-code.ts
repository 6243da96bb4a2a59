/**
 * Compiles code that is generated for what a job turns out to need: its chains, its records. Such
 * code has call sites and literals of its own, so V8 can specialise it, whatever else the process
 * has run. Callers must be able to do without (`canCompile`): Node may forbid generated code.
 */

let compiled = 0;
let isAllowed: boolean | null = null;

/** False where Node runs with `--disallow-code-generation-from-strings`. */
export function canCompile(): boolean {
  isAllowed ??= tryToCompile();
  return isAllowed;
}

/**
 * A function with these parameters and this body. Each text is different by its number, since V8
 * shares inline caches between functions of equal text, and what another pipeline does in the same
 * text would spoil them. Names and other data in the body must be JSON, never bare.
 */
export function compile(parameters: string, body: string): Function {
  const text = `"use strict"; /* weir ${++compiled} */ ${body}`;
  // oxlint-disable-next-line typescript/no-implied-eval -- see above
  return new Function(parameters, text);
}

function tryToCompile(): boolean {
  try {
    compile('', '');
    return true;
  } catch {
    return false;
  }
}
