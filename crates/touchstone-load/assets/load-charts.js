// The charts of a load: one function for each kind, from the data in the page to an SVG element. What is over time has the same
// axis, so that a stall stands at the same place in all of them.
//
// Nothing is computed that the outcome does not say. Drawn with Observable Plot on D3.

"use strict";

const loadCharts = (() => {
  const { INK, duration, count, widest, style, ticks, logDomain, grid, axisX, axisY, lineChart } = parts;

  const MARGINS = { marginLeft: 66, marginRight: 86, marginTop: 40, marginBottom: 42 };
  const FRAME = { fill: "none", stroke: "var(--rule)" };

  // Percentiles

  /** Times against the share of requests that take longer, on the scale of HdrHistogram's plots. */
  function percentiles({ requests, lines, within }, width) {
    const most = Math.max(10, requests);
    const tens = d3.range(1, Math.floor(Math.log10(most)) + 1).map((power) => 10 ** power);
    const looks = [
      { colour: "var(--series-1)", dash: "none" },
      { colour: "var(--series-2)", dash: "6 3" },
    ];
    return lineChart({
      lines: lines.map(({ name, points }, place) => ({
        arm: name,
        look: looks[place],
        points: points.map(([x, y]) => ({ x, y })),
        curve: "linear",
      })),
      within,
      width,
      least: 300,
      between: 220,
      // A tenfold range at least, so that little noise looks little.
      span: 10,
      domainX: [1, most],
      labelX: "percentile of the requests",
      labelY: "response time, service time",
      ticksX: [1, 2, ...tens],
      sayX: (oneIn) => String(Number((100 * (1 - 1 / oneIn)).toPrecision(10))),
    });
  }

  // Over time

  /** The frame that all charts over time share. */
  function overTime({ ends, phases }, width, { height, y, marks, named }) {
    const each = (width - MARGINS.marginLeft - MARGINS.marginRight) / ends;
    // A name that does not fit its phase would run into the next.
    const fit = phases.filter((phase) => widest([phase.name]) + 4 < (phase.ends - phase.begins) * each);
    const bounds = new Set(phases.flatMap((phase) => [phase.begins, phase.ends]));
    return Plot.plot({
      width,
      height,
      ...MARGINS,
      style: style(),
      x: { type: "linear", domain: [0, ends] },
      y,
      marks: [
        Plot.rect(
          phases.filter((phase) => !phase.counted),
          { x1: "begins", x2: "ends", fill: "var(--wash)" },
        ),
        ...marks,
        Plot.ruleX([...bounds], { stroke: "var(--muted)", strokeWidth: 0.8, strokeDasharray: "2 3" }),
        Plot.text(fit, {
          x: "begins",
          text: "name",
          frameAnchor: "top",
          textAnchor: "start",
          lineAnchor: "bottom",
          dx: 3,
          dy: -5,
          fill: "var(--muted)",
        }),
        axisX(timeTicks(ends, each), sayTime(ends), "since the beginning of the first phase"),
        legend(named),
      ],
    });
  }

  /** Round steps of seconds, minutes and hours, a word apart. */
  function timeTicks(ends, each) {
    const steps = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 43200];
    const step = steps.find((step) => step * each >= 52) ?? 86400;
    return d3.range(0, Math.floor(ends / step + 1e-9) + 1).map((number) => number * step);
  }

  const sayTime = (ends) => (seconds) => {
    if (ends < 150) return `${Number(seconds.toFixed(1))} s`;
    const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60)];
    const rest = String(Math.round(seconds % 60)).padStart(2, "0");
    return ends < 7200 ? `${hours * 60 + minutes}:${rest}` : `${hours}:${String(minutes).padStart(2, "0")} h`;
  };

  /** What the colours mean, at the right of the frame. */
  function legend(named) {
    return (_index, _scales, _values, { width, marginTop, marginRight }) => {
      const group = d3.create("svg:g").attr("transform", `translate(${width - marginRight + 10},${marginTop + 8})`);
      named.forEach(({ name, colour, dash = "none", thick = 2 }, place) => {
        const row = group.append("g").attr("transform", `translate(0,${place * 18})`);
        row.append("line").attr("x2", 14).attr("stroke", colour).attr("stroke-width", thick).attr("stroke-dasharray", dash);
        row.append("text").attr("x", 19).attr("dy", "0.32em").attr("text-anchor", "start").attr("fill", INK).text(name);
      });
      return group.node();
    };
  }

  /** A stretch is as wide as it lasts: two points each, and a gap where there is nothing. */
  const stairs = (values, step, ends) =>
    values.flatMap((y, place) => [
      { x: place * step, y: y ?? NaN },
      { x: Math.min((place + 1) * step, ends), y: y ?? NaN },
    ]);

  function throughput(data, width) {
    const { step, ends, phases, ended, range, failed } = data;
    const offered = phases.filter((phase) => phase.rate);
    const highest = [...ended, ...offered.flatMap((phase) => phase.rate), ...(range ?? []).map(([, most]) => most)];
    const top = d3.max(highest) * 1.06;
    const at = d3.ticks(0, top, 5);
    const hasFailed = failed.some((rate) => rate > 0);
    const blocks = (values) =>
      values.map((y, place) => ({ y, x1: place * step, x2: Math.min((place + 1) * step, ends) }));
    const ranges = blocks(range ?? []);
    return overTime(data, width, {
      height: 256,
      y: { type: "linear", domain: [0, top] },
      named: [
        { name: "ended", colour: "var(--series-1)" },
        ...(hasFailed ? [{ name: "failed", colour: "var(--worse)", thick: 7 }] : []),
        ...(offered.length ? [{ name: "offered", colour: INK, dash: "2 3", thick: 1.2 }] : []),
      ],
      marks: [
        Plot.gridY(at, grid),
        axisY(at, count, "requests a second"),
        Plot.rect(ranges, {
          x1: "x1",
          x2: "x2",
          y1: (block) => block.y[0],
          y2: (block) => block.y[1],
          fill: "var(--series-1)",
          fillOpacity: 0.2,
        }),
        Plot.line(
          stairs(
            (range ?? []).map(([least]) => least),
            step,
            ends,
          ),
          { x: "x", y: "y", stroke: "var(--series-1)", strokeWidth: 0.9 },
        ),
        Plot.rect(
          blocks(failed).filter((block) => block.y > 0),
          { x1: "x1", x2: "x2", y1: 0, y2: "y", fill: "var(--worse)", fillOpacity: 0.75, shapeRendering: "crispEdges" },
        ),
        offered.map((phase) =>
          Plot.line(
            [
              [phase.begins, phase.rate[0]],
              [phase.ends, phase.rate[1]],
            ],
            { stroke: INK, strokeWidth: 1.2, strokeDasharray: "2 3" },
          ),
        ),
        Plot.line(stairs(ended, step, ends), { x: "x", y: "y", stroke: "var(--series-1)", strokeWidth: 1.6 }),
        Plot.ruleY([0], { stroke: INK }),
      ],
    });
  }

  function latencies(data, width) {
    const { step, ends, p50, p99, max } = data;
    const domain = logDomain([...p50, ...p99, ...max].filter((ns) => ns !== null));
    // A tenfold range at least, so that little noise looks little.
    const wider = Math.sqrt(Math.max(1, 10 / (domain[1] / domain[0])));
    const range = [domain[0] / wider, domain[1] * wider];
    const at = ticks(range, 6);
    // The longest is often the 99th percentile too: it is thin, and lies above that.
    const looks = [
      { name: "max", values: max, colour: INK, thick: 1 },
      { name: "P99", values: p99, colour: "var(--series-2)", thick: 3 },
      { name: "P50", values: p50, colour: "var(--series-1)", thick: 2 },
    ];
    return overTime(data, width, {
      height: 296,
      y: { type: "log", domain: range },
      named: looks,
      marks: [
        Plot.gridY(at, grid),
        axisY(at, duration, "response time"),
        [...looks].reverse().map(({ values, colour, thick }) =>
          Plot.line(stairs(values, step, ends), { x: "x", y: "y", stroke: colour, strokeWidth: thick }),
        ),
      ],
    });
  }

  /** A cell for each stretch and band, its colour by the logarithm of how many. */
  function heat(data, width) {
    const { step, ends, bounds, cells } = data;
    const most = d3.max(cells, ([, , count]) => count);
    const strength = d3.scaleLog().domain([1, Math.max(2, most)]).range([0.14, 1]);
    const at = ticks([bounds[0], bounds.at(-1)], 6);
    const shown = cells.map(([column, band, count]) => ({
      x1: column * step,
      x2: Math.min((column + 1) * step, ends),
      y1: bounds[band],
      y2: bounds[band + 1],
      strength: strength(count),
      title: `${duration(bounds[band])} to ${duration(bounds[band + 1])}: ${count}`,
    }));
    const samples = [1, ...d3.range(1, Math.floor(Math.log10(most)) + 1).map((power) => 10 ** power)].slice(-6);
    return overTime(data, width, {
      height: Math.max(230, Math.min(376, bounds.length * 12 + 82)),
      y: { type: "log", domain: [bounds[0], bounds.at(-1)] },
      named: samples.reverse().map((sample) => ({
        name: count(sample),
        colour: `color-mix(in srgb, var(--series-1) ${Math.round(100 * strength(sample))}%, var(--paper))`,
        thick: 11,
      })),
      marks: [
        Plot.gridY(at, grid),
        axisY(at, duration, "response time"),
        Plot.rect(shown, {
          x1: "x1",
          x2: "x2",
          y1: "y1",
          y2: "y2",
          fill: "var(--series-1)",
          fillOpacity: "strength",
          title: "title",
          inset: 0,
          shapeRendering: "crispEdges",
        }),
        Plot.frame(FRAME),
      ],
    });
  }

  // A search

  /** Rates by the number of the step, and the bracket after each. */
  function steps({ steps, at, not_at }, width) {
    const points = steps.map((step, place) => ({ ...step, number: place + 1 }));
    const rates = logDomain([...steps.map((step) => step.rate), at, not_at].filter(Boolean), 0.08);
    // A fourfold range at least: steps that are all at one rate have an axis too.
    const wider = Math.sqrt(Math.max(1, 4 / (rates[1] / rates[0])));
    const domain = [rates[0] / wider, rates[1] * wider];
    const atY = ticks(domain, 7);
    const every = Math.ceil((points.length * 26) / (width - MARGINS.marginLeft - MARGINS.marginRight));
    const numbers = d3.range(1, points.length + 1, every);
    const mark = (shown, options) => Plot.dot(shown, { x: "number", y: "rate", title: say, ...options });
    const say = (step) =>
      `${count(Math.round(step.rate))} a second: ${step.held ? "held" : "did not hold"}` +
      `${step.doubted ? ", and does not count" : ""}; ${step.said}`;
    const better = { stroke: "var(--better)", strokeWidth: 1.5 };
    // What cannot be believed is no answer: it is drawn as an outline.
    const doubted = points.filter((step) => step.doubted);
    const held = points.filter((step) => step.held && !step.doubted);
    const failed = points.filter((step) => !step.held && !step.doubted);
    const outline = (step) => `var(--${step.held ? "better" : "worse"})`;
    const dashed = { stroke: outline, strokeWidth: 1.5, strokeDasharray: "2 2", fill: "var(--paper)" };
    const confirms = (step) => step.confirms;
    return Plot.plot({
      width,
      height: 340,
      ...MARGINS,
      marginTop: 26,
      marginRight: 118,
      style: style(),
      x: { type: "linear", domain: [0.5, points.length + 0.5] },
      y: { type: "log", domain },
      marks: [
        Plot.rect(
          points.filter((step) => step.low !== null && step.high !== null),
          {
            x1: (step) => step.number - 0.5,
            x2: (step) => step.number + 0.5,
            y1: "low",
            y2: "high",
            fill: "var(--band)",
            shapeRendering: "crispEdges",
          },
        ),
        Plot.gridY(atY, grid),
        axisY(atY, (rate) => count(Math.round(rate)), "iterations a second, offered"),
        axisX(numbers, String, "step"),
        Plot.ruleY([at].filter(Boolean), { stroke: "var(--better)", strokeDasharray: "6 3" }),
        Plot.text([at].filter(Boolean), {
          y: (rate) => rate,
          text: (rate) => `${count(Math.round(rate))} a second`,
          frameAnchor: "left",
          textAnchor: "start",
          lineAnchor: "bottom",
          dx: 6,
          dy: -5,
          fill: "var(--better)",
        }),
        Plot.line(points, { x: "number", y: "rate", stroke: "var(--muted)", strokeWidth: 0.8, strokeOpacity: 0.6 }),
        mark(held.filter((step) => !confirms(step)), { ...better, r: 5, fill: "var(--better)" }),
        mark(held.filter(confirms), { ...better, r: 6.5, symbol: "diamond", fill: "var(--better)" }),
        mark(failed, { r: 5, symbol: "times", stroke: "var(--worse)", strokeWidth: 2.2 }),
        mark(failed.filter(confirms), { r: 9, symbol: "diamond", stroke: "var(--worse)", strokeWidth: 1.2, fill: "none" }),
        mark(doubted.filter((step) => !confirms(step)), { ...dashed, r: 5 }),
        mark(doubted.filter(confirms), { ...dashed, r: 6.5, symbol: "diamond" }),
        stepLegend(points),
      ],
    });
  }

  function stepLegend(points) {
    const counts = (step) => !step.doubted;
    const entries = [
      { name: "held", symbol: d3.symbolCircle, fill: "var(--better)", there: (step) => counts(step) && step.held && !step.confirms },
      { name: "did not hold", symbol: d3.symbolTimes, stroke: "var(--worse)", there: (step) => counts(step) && !step.held },
      { name: "confirmed", symbol: d3.symbolDiamond, fill: "var(--better)", there: (step) => counts(step) && step.held && step.confirms },
      { name: "not confirmed", symbol: d3.symbolDiamond, stroke: "var(--worse)", there: (step) => counts(step) && !step.held && step.confirms },
      { name: "does not count", symbol: d3.symbolCircle, stroke: INK, dash: "2 2", there: (step) => step.doubted },
      { name: "the bracket", symbol: d3.symbolSquare, fill: "var(--band)", there: (step) => step.low && step.high },
    ].filter((entry) => points.some(entry.there));
    return (_index, _scales, _values, { width, marginTop, marginRight }) => {
      const group = d3.create("svg:g").attr("transform", `translate(${width - marginRight + 14},${marginTop + 8})`);
      entries.forEach(({ name, symbol, fill = "none", stroke = "none", dash = "none" }, place) => {
        const row = group.append("g").attr("transform", `translate(0,${place * 20})`);
        row
          .append("path")
          .attr("d", d3.symbol(symbol, 70)())
          .attr("fill", fill)
          .attr("stroke", stroke)
          .attr("stroke-dasharray", dash)
          .attr("stroke-width", 1.8);
        row.append("text").attr("x", 12).attr("dy", "0.32em").attr("text-anchor", "start").attr("fill", INK).text(name);
      });
      return group.node();
    };
  }

  return { percentiles, throughput, latencies, heat, steps };
})();

/** What draws a figure, by the kind it asks for. */
const charts = loadCharts;

drawCharts();
redrawOnResize();
prepareForPrint();
