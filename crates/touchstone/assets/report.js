// What the page does: draws its charts, again when the width changes, and sorts the tables of cases.

"use strict";

/** Charts are never narrower than this; the page scrolls them sideways instead. */
const CHART_WIDTH_MIN = 560;

function drawChart(figure) {
  const plot = figure.querySelector(".plot");
  const width = Math.max(CHART_WIDTH_MIN, Math.floor(plot.clientWidth));
  if (figure.dataset.width === String(width)) return;
  figure.dataset.width = String(width);
  try {
    const data = JSON.parse(figure.querySelector("script").textContent);
    const svg = charts[figure.dataset.chart](data, width);
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", figure.getAttribute("aria-label"));
    plot.replaceChildren(svg);
    figure.dataset.drawn = "true";
  } catch (error) {
    const message = document.createElement("p");
    message.className = "error";
    message.textContent = `This chart could not be drawn (${error.message}); its figures stand in the tables.`;
    plot.replaceChildren(message);
    figure.dataset.drawn = "error";
  }
}

function drawCharts() {
  const figures = document.querySelectorAll("figure[data-chart]");
  figures.forEach(drawChart);
  let waiting;
  window.addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => figures.forEach(drawChart), 150);
  });
}

/** Numbers by size, words by the alphabet; a cell without a value comes last either way. */
function compareValues(one, other, direction) {
  if (one === "" || other === "") return (one === "") - (other === "");
  const numbers = [Number(one), Number(other)];
  const order = numbers.some(Number.isNaN) ? one.localeCompare(other) : numbers[0] - numbers[1];
  return direction === "ascending" ? order : -order;
}

/** Sorts the rows of each case by a column; the case's title stays first. */
function sortTable(table, column, direction) {
  const value = (row) => row.cells[column]?.dataset.value ?? "";
  for (const body of table.tBodies) {
    const rows = [...body.rows].filter((row) => !row.classList.contains("title"));
    rows.sort((one, other) => compareValues(value(one), value(other), direction));
    body.append(...rows);
  }
}

/** Figures start with the largest, words with the first of the alphabet. */
function nextDirection(header) {
  const first = header.classList.contains("number") ? "descending" : "ascending";
  const second = first === "ascending" ? "descending" : "ascending";
  return header.getAttribute("aria-sort") === first ? second : first;
}

function makeSortable(table) {
  const headers = [...table.tHead.rows[0].cells];
  for (const header of headers.filter((header) => header.querySelector("button"))) {
    header.querySelector("button").addEventListener("click", () => {
      const direction = nextDirection(header);
      for (const other of headers) if (other.hasAttribute("aria-sort")) other.setAttribute("aria-sort", "none");
      header.setAttribute("aria-sort", direction);
      sortTable(table, headers.indexOf(header), direction);
    });
  }
}

/** On paper nothing can be opened, so everything is. */
function openForPrint() {
  let closed = [];
  window.addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")];
    for (const details of closed) details.open = true;
  });
  window.addEventListener("afterprint", () => {
    for (const details of closed) details.open = false;
  });
}

drawCharts();
document.querySelectorAll("table.cases").forEach(makeSortable);
openForPrint();
