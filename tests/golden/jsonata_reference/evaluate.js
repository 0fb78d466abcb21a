// Evaluate expressions, one JSON text a line, with versions of JSONata's reference implementation.
//
// A line is {"expression", "input"}; the answer is an array with an outcome for each version: {"value"}, with what JSON
// lacks as {"\u0000number": "NaN"}, {"\u0000undefined": true} or {"\u0000function": true}; {"undefined"}; {"function"};
// or {"code"}, which is "endless" after a second. Arguments: the time of $now() in milliseconds, and a folder for each
// version.
"use strict";

const fs = require("fs");
const path = require("path");
const readline = require("readline");
const vm = require("vm");

const MOST_MS = 1000;
const [NOW_MS, ...FOLDERS] = process.argv.slice(2);

const EVALUATOR = `
    var now = ${Number(NOW_MS)};
    var SystemDate = Date;
    Date = class extends SystemDate {
        constructor(...parts) { super(...(parts.length ? parts : [now])); }
        static now() { return now; }
    };

    function isFunction(value) {
        return typeof value === "function" || Boolean(value && (value._jsonata_lambda || value._jsonata_function));
    }

    function plain(value) {
        if (typeof value === "number" && !Number.isFinite(value)) return { "\\u0000number": String(value) };
        if (isFunction(value)) return { "\\u0000function": true };
        if (value === undefined) return { "\\u0000undefined": true };
        if (Array.isArray(value)) return Array.from(value, plain);
        if (value !== null && typeof value === "object") {
            return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, plain(inner)]));
        }
        return value;
    }

    function kept(value) {
        if (value === undefined) return { undefined: true };
        return isFunction(value) ? { function: true } : { value: plain(value) };
    }

    function failed(error) {
        return { code: error && error.code ? String(error.code) : "JavaScript " + (error && error.name) };
    }

    async function evaluate({ expression, input }) {
        try {
            return kept(await jsonata(expression).evaluate(undefined, { states: { input } }));
        } catch (error) {
            return failed(error);
        }
    }
`;

function loaded(folder) {
    const context = vm.createContext({ URL, module: {}, exports: {} }, { microtaskMode: "afterEvaluate" });
    vm.runInContext("var global = globalThis; var window = undefined;", context);
    context.Buffer = Buffer;
    const source = fs.readFileSync(path.join(folder, "jsonata.js"), "utf8");
    vm.runInContext(source, context);
    vm.runInContext("var jsonata = module.exports;", context);
    vm.runInContext(EVALUATOR, context);
    return context;
}

function answer(context, line) {
    context.answer = undefined;
    // JSON is a language within JavaScript, so the line is a value of the program.
    const program = `evaluate(${line}).then((found) => { answer = JSON.stringify(found); });`;
    try {
        vm.runInContext(program, context, { timeout: MOST_MS });
    } catch (error) {
        if (error.code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw error;
        return '{"code": "endless"}';
    }
    return context.answer;
}

async function main() {
    const contexts = FOLDERS.map(loaded);
    for await (const line of readline.createInterface({ input: process.stdin })) {
        process.stdout.write(`[${contexts.map((context) => answer(context, line)).join(",")}]\n`);
    }
}

main().catch((error) => {
    process.stderr.write(String(error && error.stack));
    process.exit(1);
});
