"use strict";
(() => {
  const form = document.querySelector("form.sliders");
  const answer = document.getElementById("answer");
  let waiting = null, running = null;
  const ask = async () => {
    if (running) running.abort();
    running = new AbortController();
    const mine = running;
    const query = new URLSearchParams(new FormData(form)).toString();
    answer.classList.add("busy");
    try {
      const reply = await fetch("/answer?" + query, { signal: mine.signal });
      answer.innerHTML = await reply.text();
      history.replaceState(null, "", "/?" + query);
    } catch (error) {
      if (error.name === "AbortError") return;
      answer.textContent = "No answer: is filmgate plan --serve still running?";
    }
    if (mine === running) answer.classList.remove("busy");
  };
  form.addEventListener("input", (event) => {
    const slider = event.target;
    if (slider.type === "range") {
      const value = slider.dataset.options.split("|")[Number(slider.value)];
      slider.setAttribute("aria-valuetext", value);
      slider.parentElement.querySelector("output").textContent = value;
      slider.parentElement.querySelector("input[type=hidden]").value = value;
    }
    clearTimeout(waiting);
    waiting = setTimeout(ask, 80);
  });
})();
