-- The load's side of a benchmark, for wrk: `wrk -s load.lua URL -- [pipelined DEPTH | closing REQUESTS | posting BYTES]`.
-- pipelined sends DEPTH requests at once; closing asks for the connection's end with every REQUESTS-th request, so that
-- a connection carries REQUESTS of them in the mean; posting has a body of BYTES in each.

function init(arguments)
  local mode, number = arguments[1], tonumber(arguments[2])
  local open = wrk.format()
  if mode == "pipelined" then
    local batch = string.rep(open, number)
    request = function() return batch end
  elseif mode == "closing" then
    local closing = wrk.format(nil, nil, { Host = wrk.headers["Host"], Connection = "close" })
    local sent = 0
    request = function()
      sent = sent + 1
      return sent % number == 0 and closing or open
    end
  elseif mode == "posting" then
    local posting = wrk.format("POST", nil, nil, string.rep("x", number))
    request = function() return posting end
  end
end

-- One line for the harness to read; times are in microseconds.
function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    "tayet-bench requests=%d bytes=%d duration_us=%d p50_us=%d p99_us=%d connect=%d read=%d write=%d status=%d timeout=%d\n",
    summary.requests, summary.bytes, summary.duration, latency:percentile(50), latency:percentile(99),
    errors.connect, errors.read, errors.write, errors.status, errors.timeout))
end
