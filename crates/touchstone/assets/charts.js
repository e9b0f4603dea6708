// The charts of a report: one function for each kind, from the data in the page to an SVG element.
//
// Nothing is computed that the tables do not say; labels come worded from the lab. Colours are the page's CSS
// variables, so charts follow light, dark and print. Drawn with Observable Plot on D3.

"use strict";

const charts = (() => {
  const FONT_PX = 12;
  const SERIES = [1, 2, 3, 4, 5, 6, 7].map((number) => `var(--series-${number})`);
  const DASHES = ["none", "7 3", "2 2", "9 3 2 3", "4 2", "12 3", "1 3"];
  const MUTED = "var(--muted)";
  const INK = "currentColor";
  const TONES = { better: "var(--better)", holds: "var(--better)", worse: "var(--worse)", refuted: "var(--worse)" };
  const DECADES = [1, 2, 5];

  // Figures

  const digits = (value) => (value >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(3))));

  function duration(ns) {
    const units = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
    const [size, unit] = units.find(([size]) => ns >= size * 0.9995) ?? units[3];
    return `${digits(ns / size)} ${unit}`;
  }

  const ratio = (value) => (value >= 0.01 ? digits(value) : `1/${digits(1 / value)}`);
  const count = (value) => value.toLocaleString("en");

  // Text is measured as the page sets it, so that margins fit the longest name.
  const canvas = document.createElement("canvas").getContext("2d");

  function textWidth(text, font) {
    canvas.font = font;
    return canvas.measureText(text).width;
  }

  function fonts() {
    const style = getComputedStyle(document.documentElement);
    return { plain: style.getPropertyValue("--plain"), mono: style.getPropertyValue("--mono") };
  }

  const widest = (texts, family, px = FONT_PX) =>
    Math.ceil(Math.max(0, ...texts.map((text) => textWidth(text, `${px}px ${family}`))));

  // Axes

  /** Ticks of a logarithmic axis at 1, 2, 5 of each decade, fewer if there are many, evenly spaced if there are none. */
  function ticks([low, high], most = 8) {
    const steps = high / low < 4 ? [] : [DECADES, [1, 3], [1]].map((digits) => decades(low, high, digits));
    const fitting = steps.find((ticks) => ticks.length <= most) ?? steps.at(-1);
    return fitting && fitting.length > 2 ? fitting : d3.ticks(low, high, Math.min(6, most));
  }

  function decades(low, high, digits) {
    const from = Math.floor(Math.log10(low));
    const powers = d3.range(from, Math.ceil(Math.log10(high)) + 1);
    return powers.flatMap((power) => digits.map((digit) => digit * 10 ** power)).filter((t) => t >= low && t <= high);
  }

  /** From the least to the most, with room at both ends on the log scale. */
  function logDomain(values, room = 0.06) {
    const finite = values.filter((value) => Number.isFinite(value) && value > 0);
    const [low, high] = d3.extent(finite);
    const pad = Math.max(Math.log(high / low) * room, 0.004);
    return [low * Math.exp(-pad), high * Math.exp(pad)];
  }

  const style = () => ({
    fontFamily: fonts().plain, fontSize: `${FONT_PX}px`, background: "none", color: "var(--ink)",
    fontVariantNumeric: "tabular-nums",
  });

  const name = (options) => ({ fill: INK, fontFamily: fonts().mono, fontSize: FONT_PX - 0.5, ...options });
  const grid = { stroke: "var(--rule)", strokeOpacity: 1 };

  // Kinds

  /** Each contender's ratio to the baseline with its interval, the margin as a band; figures as columns at the right. */
  function forest({ baseline, margin, rows }, width) {
    const left = widest(rows.map((row) => row.arm), fonts().mono) + 14;
    const figures = widest(rows.map((row) => row.figure), fonts().plain) + 18;
    const said = rows.map((row) => ({ ...row, word: row.other_class ? `${row.word}, but ${row.other_class}` : row.word }));
    const right = figures + widest(said.map((row) => row.word), fonts().plain) + 16;
    const ends = rows.flatMap((row) => [row.low, row.value, row.high]);
    const domain = logDomain([...ends, 1 - margin, 1 + margin]);
    const drawn = said.filter((row) => row.value !== null);
    const tone = (row) => TONES[row.word.split(",")[0]] ?? INK;
    const base = said.filter((row) => row.arm === baseline);
    const at = ticks(domain, Math.floor((width - left - right) / 55));
    return Plot.plot({
      width, height: 24 * rows.length + 58, marginLeft: left, marginRight: right, marginTop: 8, marginBottom: 42,
      style: style(),
      x: { type: "log", domain, label: "rate over the baseline's →", labelAnchor: "center", labelOffset: 36 },
      y: { type: "point", domain: rows.map((row) => row.arm), padding: 0.6 },
      marks: [
        Plot.rect([margin], { x1: 1 / (1 + margin), x2: 1 + margin, fill: "var(--band)" }),
        Plot.gridX(at, grid),
        Plot.ruleX([1], { stroke: INK, strokeWidth: 1 }),
        Plot.axisX(at, { tickFormat: ratio, tickSize: 4, label: null }),
        Plot.ruleY(drawn, { y: "arm", x1: "low", x2: "high", stroke: tone, strokeWidth: 2 }),
        Plot.dot(drawn, { y: "arm", x: "value", r: 4, stroke: tone, strokeWidth: 2, fill: (row) => (row.other_class ? "var(--paper)" : tone(row)) }),
        Plot.dot(base, { y: "arm", x: 1, symbol: "diamond", r: 5, fill: INK }),
        Plot.text(said, name({ y: "arm", text: "arm", frameAnchor: "left", textAnchor: "end", dx: -12 })),
        Plot.text(said, { y: "arm", text: "figure", frameAnchor: "right", textAnchor: "start", dx: 12, fill: INK }),
        Plot.text(said, { y: "arm", text: "word", frameAnchor: "right", textAnchor: "start", dx: figures, fill: tone }),
      ],
    });
  }

  /** A strip for each contender with a dot for each launch, from the first at the top to the last at the bottom. */
  function launches({ arms, points, medians }, width) {
    const strip = 40;
    const last = d3.max(points, ([, launch]) => launch) || 1;
    const place = (arm, launch) => arm * strip + 20 + (launch / last) * (strip - 26);
    const dots = points.map(([arm, launch, ns]) => ({ x: ns, y: place(arm, launch), arm: arms[arm], launch }));
    const strokes = medians.flatMap((ns, arm) => (ns === null ? [] : [{ x: ns, y1: place(arm, 0) - 3, y2: place(arm, last) + 3 }]));
    const domain = logDomain(dots.map((dot) => dot.x), 0.04);
    const at = ticks(domain, Math.floor(width / 70));
    return Plot.plot({
      width, height: arms.length * strip + 50, marginLeft: 4, marginRight: 12, marginTop: 4, marginBottom: 42,
      style: style(),
      x: { type: "log", domain, label: "time of one operation →", labelAnchor: "center", labelOffset: 36 },
      y: { type: "linear", domain: [0, arms.length * strip], reverse: true, axis: null },
      marks: [
        Plot.gridX(at, grid),
        Plot.axisX(at, { tickFormat: duration, tickSize: 4, label: null }),
        Plot.ruleY(d3.range(1, arms.length).map((arm) => arm * strip + 3), { stroke: "var(--rule)" }),
        Plot.ruleX(strokes, { x: "x", y1: "y1", y2: "y2", stroke: INK, strokeWidth: 1.5 }),
        Plot.dot(dots, {
          x: "x", y: "y", r: 2.5, fill: "var(--series-1)", fillOpacity: 0.85,
          title: (dot) => `${dot.arm}, launch ${dot.launch + 1}: ${duration(dot.x)}`,
        }),
        Plot.text(arms, name({
          x: () => domain[0], y: (_, arm) => arm * strip + 11, text: (arm) => arm, textAnchor: "start", dx: 2,
          stroke: "var(--paper)", strokeWidth: 4,
        })),
      ],
    });
  }

  /** Latency against the share of slower operations, both logarithmic. */
  function latency({ baseline, arms }, width) {
    const most = d3.max(arms, (arm) => arm.operations);
    const lines = arms.map(({ arm, operations, curve }) => ({
      arm,
      points: curve
        .map(([percentile, ns]) => ({ x: percentile >= 100 ? operations : 1 / (1 - percentile / 100), y: ns, arm }))
        .filter((point) => point.x <= operations),
    }));
    const shares = d3.range(0, Math.floor(Math.log10(most)) + 1).map((power) => 10 ** power);
    const x = { type: "log", domain: [1, most], label: "operations of which one is slower →" };
    return lineChart({ lines, baseline, width, height: 300, x, y: "time of the operation", ticksX: [2, ...shares.slice(1)], formatX: shareName });
  }

  const shareName = (one_in) => (one_in === 2 ? "p50" : `p${Number((100 * (1 - 1 / one_in)).toPrecision(10))}`);

  /** Time against the number of tables, both logarithmic. */
  function scaling({ baseline, arms }, width) {
    const lines = arms.map(({ arm, points }) => ({
      arm,
      points: points.map((point) => ({ x: point.tables, y: point.ns, arm })),
      dots: points.flatMap((point) => point.launches.map((ns) => ({ x: point.tables, y: ns }))),
    }));
    const tables = [...new Set(lines.flatMap((line) => line.points.map((point) => point.x)))].sort(d3.ascending);
    const x = { type: "log", domain: [tables[0], tables.at(-1)], label: "tables →" };
    return lineChart({ lines, baseline, width, height: 320, x, y: "time to open", ticksX: tables, formatX: count });
  }

  /** Lines with their names at the right end, moved apart where they would meet. */
  function lineChart({ lines, baseline, width, height, x, y, ticksX, formatX }) {
    const right = widest(lines.map((line) => line.arm), fonts().mono) + 34;
    const margins = { marginLeft: 58, marginRight: right, marginTop: 26, marginBottom: 42 };
    const domainY = logDomain(lines.flatMap((line) => [...line.points, ...(line.dots ?? [])]).map((point) => point.y));
    const scaleY = Plot.scale({ y: { type: "log", domain: domainY, range: [height - 42, 26] } });
    const looks = looksOf(lines.map((line) => line.arm), baseline);
    const atY = ticks(domainY, 8);
    const labels = apart(lines.map((line) => ({ arm: line.arm, end: line.points.at(-1) })), scaleY);
    return Plot.plot({
      width, height, ...margins, style: style(),
      x: { labelAnchor: "center", labelOffset: 36, ...x },
      y: { type: "log", domain: domainY, label: `↑ ${y}` },
      marks: [
        Plot.gridY(atY, grid), Plot.gridX(ticksX, grid),
        Plot.axisX(ticksX, { tickFormat: formatX, tickSize: 4, label: null }),
        Plot.axisY(atY, { tickFormat: duration, tickSize: 4 }),
        lines.map((line) => Plot.line(line.points, {
          x: "x", y: "y", stroke: looks.get(line.arm).colour, strokeDasharray: looks.get(line.arm).dash,
          strokeWidth: line.arm === baseline ? 2.5 : 1.8, curve: line.dots ? "linear" : "monotone-x",
        })),
        lines.map((line) => Plot.dot(line.dots ?? [], { x: "x", y: "y", r: 2, fill: looks.get(line.arm).colour, fillOpacity: 0.6 })),
        Plot.link(labels, { x1: (l) => l.end.x, x2: (l) => l.end.x, y1: (l) => l.end.y, y2: "y", stroke: "none" }),
        labels.map((label) => leader(label, looks.get(label.arm))),
        Plot.text(labels, name({
          x: (label) => label.end.x, y: "y", text: "arm", textAnchor: "start", dx: 26,
          fill: (label) => looks.get(label.arm).colour,
        })),
      ],
    });
  }

  /** The baseline in ink and solid, every other contender in a colour and a dash of its own. */
  function looksOf(arms, baseline) {
    const others = arms.filter((arm) => arm !== baseline);
    const look = (arm) => {
      const place = others.indexOf(arm);
      return place < 0 ? { colour: INK, dash: "none" } : { colour: SERIES[place % SERIES.length], dash: DASHES[place % DASHES.length] };
    };
    return new Map(arms.map((arm) => [arm, look(arm)]));
  }

  /** Label positions at least a line apart, in the order of the line ends. */
  function apart(labels, scale, gap = 15) {
    const placed = labels.map((label) => ({ ...label, px: scale.apply(label.end.y) })).sort((a, b) => a.px - b.px);
    for (let pass = 0; pass < 60; pass++) {
      for (let i = 1; i < placed.length; i++) {
        const overlap = gap - (placed[i].px - placed[i - 1].px);
        if (overlap > 0) { placed[i].px += overlap / 2; placed[i - 1].px -= overlap / 2; }
      }
    }
    return placed.map((label) => ({ ...label, y: scale.invert(label.px) }));
  }

  /** From the end of a line to its label. */
  function leader(label, look) {
    return (_, scales) => {
      const [x, from, to] = [scales.scales.x.apply(label.end.x), scales.scales.y.apply(label.end.y), scales.scales.y.apply(label.y)];
      const path = d3.create("svg:path").attr("d", `M${x + 2},${from}L${x + 10},${from}L${x + 16},${to}L${x + 23},${to}`);
      return path.attr("fill", "none").attr("stroke", look.colour).attr("stroke-width", 1).node();
    };
  }

  /** A strip for each contender: its operations in order, each stretch by its slowest. */
  function stalls({ arms }, width) {
    const points = arms.flatMap(({ arm, points }) => points.map(([operation, ns]) => ({ arm, operation, ns })));
    const domain = logDomain(points.map((point) => point.ns), 0.1);
    const longest = arms.map(({ arm, points, longest }) => {
      const [operation, ns] = d3.greatest(points, (a, b) => a[1] - b[1]);
      return { arm, operation, ns, longest };
    });
    const at = ticks(domain, 4);
    return Plot.plot({
      width, height: arms.length * 84 + 48, marginLeft: 58, marginRight: 12, marginTop: 4, marginBottom: 42,
      style: style(),
      fy: { domain: arms.map(({ arm }) => arm), axis: null, padding: 0.24 },
      x: { label: "operation →", labelAnchor: "center", labelOffset: 36, domain: [0, d3.max(points, (point) => point.operation)] },
      y: { type: "log", domain },
      marks: [
        Plot.gridY(at, grid),
        Plot.axisY(at, { tickFormat: duration, tickSize: 4, label: null }),
        Plot.axisX({ ticks: 8, tickFormat: count, tickSize: 4, label: null }),
        Plot.ruleY([domain[0]], { stroke: MUTED }),
        Plot.ruleX(points, { fy: "arm", x: "operation", y1: domain[0], y2: "ns", stroke: "var(--series-1)", strokeWidth: 1, strokeOpacity: 0.75 }),
        Plot.dot(longest, { fy: "arm", x: "operation", y: "ns", r: 3, fill: "var(--worse)" }),
        Plot.text(longest, { fy: "arm", frameAnchor: "top-right", text: "longest", dy: -13, fill: "var(--worse)" }),
        Plot.text(arms, name({ fy: "arm", frameAnchor: "top-left", text: "arm", dy: -13 })),
      ],
    });
  }

  /** Each claim's figure here beside the published one, over the range in which it holds. */
  function claims({ rows }, width) {
    const strip = 46;
    const right = widest(rows.map((row) => row.figure), fonts().plain) + widest(rows.map((row) => row.status), fonts().plain) + 40;
    const statusWidth = widest(rows.map((row) => row.status), fonts().plain) + 16;
    const known = rows.flatMap((row) => [row.low, row.value, row.high, row.published, row.at_least, row.at_most]);
    const domain = logDomain([...known.filter((value) => value !== null), 1], 0.05);
    const placed = rows.map((row, index) => ({ ...row, y: index * strip + 30, from: row.at_least ?? domain[0], to: row.at_most ?? domain[1] }));
    const tone = (row) => TONES[row.status] ?? "var(--doubt)";
    const at = ticks(domain, Math.floor((width - right) / 60));
    return Plot.plot({
      width, height: rows.length * strip + 52, marginLeft: 4, marginRight: right, marginTop: 4, marginBottom: 42,
      style: style(),
      x: { type: "log", domain, label: "ratio →", labelAnchor: "center", labelOffset: 36 },
      y: { type: "linear", domain: [0, rows.length * strip], reverse: true, axis: null },
      marks: [
        Plot.gridX(at, grid),
        Plot.ruleX([1], { stroke: MUTED }),
        Plot.axisX(at, { tickFormat: ratio, tickSize: 4, label: null }),
        Plot.rect(placed, { x1: "from", x2: "to", y1: (row) => row.y - 7, y2: (row) => row.y + 7, fill: "var(--band)" }),
        Plot.ruleY(placed, { y: "y", x1: "low", x2: "high", stroke: tone, strokeWidth: 2 }),
        Plot.dot(placed.filter((row) => row.published > 0), { x: "published", y: "y", symbol: "diamond", r: 5, stroke: INK, fill: "var(--paper)", strokeWidth: 1.5 }),
        Plot.dot(placed, { x: "value", y: "y", r: 4, fill: tone }),
        Plot.text(placed, { x: () => domain[0], y: (row) => row.y - 17, text: "statement", textAnchor: "start", dx: 2, fill: INK, stroke: "var(--paper)", strokeWidth: 4 }),
        Plot.text(placed, { y: "y", text: "status", frameAnchor: "right", textAnchor: "start", dx: 14, fill: tone, fontWeight: 600 }),
        Plot.text(placed, { y: "y", text: "figure", frameAnchor: "right", textAnchor: "start", dx: 14 + statusWidth, fill: INK }),
      ],
    });
  }

  return { forest, launches, latency, scaling, stalls, claims };
})();
