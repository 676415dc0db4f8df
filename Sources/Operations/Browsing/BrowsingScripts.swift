import Queue
import Redis

/// What shows jobs to an operator: bounded reads of lists and sorted sets of any size.
enum BrowsingScripts {
  /// Members of a sorted set, or elements of a list, that are read at once: their size is known only then.
  private static let chunk = 4
  /// Members that are read at once while they are small, and bytes that a small one has.
  private static let largestChunk = 32
  private static let smallBytes = 2048
  /// Bytes at the beginning of a dead letter in which its first line ends.
  private static let headBytes = 16_384
  /// The bytes at the beginning of an element that its digest covers. They include its nonce.
  private static let digestBytes = 8192
  /// Bytes of a job that are returned in any case.
  private static let leastBytes = 1024
  /// Bytes of jobs that one script returns; of those after them only the beginning.
  private static let returnedBytes = 1024 * 1024
  /// Bytes of elements that one script reads. The element that exceeds them is the last.
  private static let examinedBytes = 4 * 1024 * 1024
  /// Members of the same score around the place of a reference that are compared with it, in each direction.
  private static let searchedNeighbours = 1000
  /// The maximum number of reasons that one script counts separately.
  private static let distinctReasons = 50

  /// Lua: `digest(element)`; `headEnd(letter)` returns where the first line of a dead letter ends, 0 if it has none; and
  /// `describe(element, from, score, skip, head, most)` returns what ``BrowsedJob`` reads of the element that begins at
  /// `from`. An element with `from` 0 has no envelope.
  static let describing = """
    local returned = 0
    local function digest(element)
      return redis.sha1hex(string.sub(element, 1, \(digestBytes)) .. ' ' .. #element)
    end
    local function headEnd(letter)
      if #letter > \(headBytes) then letter = string.sub(letter, 1, \(headBytes)) end
      return string.find(letter, '\\n', 1, true) or 0
    end
    local function describe(element, from, score, skip, head, most)
      local last, attempts, nonce, state, _
      if from > 0 then
        _, last, attempts, nonce, state = string.find(element, '^MARTLET1 %d+ (%d+) ([%w._-]+) (%d+)\\n', from)
      end
      if last and last + state <= #element then
        last = last + state
      else
        last, attempts, nonce = math.max(from, 1) - 1, '', ''
      end
      local bytes = math.max(\(leastBytes), math.min(tonumber(most), \(returnedBytes) - returned))
      local job = string.sub(element, last + 1, last + bytes)
      returned = returned + #job
      return {score, skip, digest(element), head, attempts, nonce, job, #element - last}
    end
    """

  /// Reads jobs of a list.
  ///
  /// - `list`: the queue, or an in-flight list.
  /// - `first`, `count`: the index of the first, negative from the right, and jobs at most.
  /// - `source`: `queue` or `inflight`.
  /// - `most`: bytes of each job at most.
  ///
  /// Returns what ``describing`` says of each, from left to right.
  static let browseList = RedisScript(
    keys: ["list", "seal"], arguments: ["first", "count", "source", "most"],
    """
    \(describing)
    local word = source == 'queue' and redis.call('GET', seal)
    local prefix = word and '\(Seal.marker)' .. word .. ' '
    local jobs, bytes, index, last = {}, 0, tonumber(first), first + count - 1
    if index < 0 then last = math.min(last, -1) end
    while index <= last and bytes < \(examinedBytes) do
      local stop = math.min(index + \(chunk - 1), last)
      local some = redis.call('LRANGE', list, index, stop)
      for _, element in ipairs(some) do
        local from = source == 'inflight' and 1 or 0
        if prefix and string.sub(element, 1, #prefix) == prefix then from = #prefix + 1 end
        jobs[#jobs + 1] = describe(element, from, '', 0, '', most)
        bytes = bytes + #element
      end
      index = stop + 1
    end
    if bytes >= \(examinedBytes) then collectgarbage() end
    return jobs
    """)

  /// Reads a page of a sorted set.
  ///
  /// - `order`: `dead` for dead letters, the highest score first; else `due`, the lowest first.
  /// - `score`, `skip`: the score of the position from which to read, empty for the beginning, and members of that score
  ///   that were read before.
  /// - `examining`, `wanted`: members that are examined at most, and that are returned at most.
  /// - `bound`: the last score that is read, empty for all.
  /// - `reason`, `text`: what the reason of a dead letter contains, as JSON writes it, and what the job contains; or empty.
  /// - `most`: bytes of each job at most.
  ///
  /// Returns {score, skip, members examined, jobs}: the position of the next page, whose score is empty after the last
  /// member, and what ``describing`` says of each member that is returned.
  static let browseSet = RedisScript(
    keys: ["set"],
    arguments: ["order", "score", "skip", "examining", "wanted", "bound", "reason", "text", "most"],
    """
    \(describing)
    \(filtering)
    \(chunking)
    local chunk, isDead, jobs, examined, bytes = \(chunk), order == 'dead', {}, 0, 0
    skip, examining, wanted, bound = tonumber(skip), tonumber(examining), tonumber(wanted), tonumber(bound)
    local rank = skip
    if score ~= '' and isDead then rank = redis.call('ZCOUNT', set, '(' .. score, '+inf') + skip end
    if score ~= '' and not isDead then rank = redis.call('ZCOUNT', set, '-inf', '(' .. score) + skip end
    local function examine(member, at)
      if at ~= score then score, skip = at, 0 end
      local head, stop = '', isDead and headEnd(member) or 0
      if isDead then head = stop > 0 and string.sub(member, 1, stop - 1) or '?' end
      if isWanted(member, stop + 1, head, reason, text) then
        jobs[#jobs + 1] = describe(member, stop + 1, at, skip, head, most)
      end
      examined, skip, rank, bytes = examined + 1, skip + 1, rank + 1, bytes + #member
    end
    local function advance()
      local asked = math.min(chunk, examining - examined, 2 * wanted)
      local found
      if isDead then
        found = redis.call('ZRANGE', set, rank, rank + asked - 1, 'REV', 'WITHSCORES')
      else
        found = redis.call('ZRANGE', set, rank, rank + asked - 1, 'WITHSCORES')
      end
      for i = 1, #found, 2 do
        local at = tonumber(found[i + 1])
        if bound and (isDead and at < bound or not isDead and at > bound) then return false end
        examine(found[i], found[i + 1])
        if #jobs >= wanted or bytes >= \(examinedBytes) then return i + 1 < #found or #found == 2 * asked end
      end
      chunk = following(chunk, examined, bytes)
      return #found == 2 * asked
    end
    local isMore = true
    while isMore and examined < examining and #jobs < wanted and bytes < \(examinedBytes) do isMore = advance() end
    if bytes >= \(examinedBytes) then collectgarbage() end
    return {isMore and score or '', skip, examined, jobs}
    """)

  /// Lua: `following(chunk, examined, bytes)` returns how many members are read at once behind those that were examined.
  private static let chunking = """
    local function following(chunk, examined, bytes)
      if bytes > examined * \(smallBytes) then return \(chunk) end
      return math.min(chunk * 2, \(largestChunk))
    end
    """

  /// Lua: `isWanted(member, from, head, reason, text)` tells whether the reason in the first line `head` of a dead letter
  /// contains `reason`, and what begins at `from` contains `text`. An empty one is contained in all.
  private static let filtering = """
    local function reasonOf(head)
      return string.match(head, '"reason":"(.*)","at":%-?%d+,"attempts":%d+}$')
    end
    local function isWanted(member, from, head, reason, text)
      if reason ~= '' then
        local found = reasonOf(head)
        if not found or not string.find(found, reason, 1, true) then return false end
      end
      return text == '' or string.find(member, text, from, true) ~= nil
    end
    """

  /// Counts the reasons of dead letters, newest first.
  ///
  /// - `before`, `most`: letters that were examined before, and that are examined at most.
  /// - `newest`, `oldest`: their scores, empty for all.
  /// - `needle`, `text`: what the reason contains, as JSON writes it, and what the job contains; or empty.
  ///
  /// Returns the number of letters examined, then each reason as JSON writes it and its count. The empty reason counts
  /// the letters of further reasons, and entries that are not dead letters.
  static let countReasons = RedisScript(
    keys: ["dead"], arguments: ["before", "most", "newest", "oldest", "needle", "text"],
    """
    \(describing)
    \(filtering)
    \(chunking)
    local chunk, counts, order, examined, bytes = \(chunk), {}, {}, 0, 0
    local rank = tonumber(before)
    most, oldest = tonumber(most), tonumber(oldest) or -math.huge
    if newest ~= '' then rank = rank + redis.call('ZCOUNT', dead, '(' .. newest, '+inf') end
    local function count(letter)
      local stop = headEnd(letter)
      local head = string.sub(letter, 1, stop - 1)
      if not isWanted(letter, stop + 1, head, needle, text) then return end
      local reason = stop > 0 and reasonOf(head) or ''
      if not counts[reason] and #order >= \(distinctReasons) then reason = '' end
      if not counts[reason] then order[#order + 1] = reason end
      counts[reason] = (counts[reason] or 0) + 1
    end
    local isMore = true
    while isMore and examined < most and bytes < \(examinedBytes) do
      local asked = math.min(chunk, most - examined)
      local found = redis.call('ZRANGE', dead, rank, rank + asked - 1, 'REV', 'WITHSCORES')
      isMore = #found == 2 * asked
      for i = 1, #found, 2 do
        if tonumber(found[i + 1]) < oldest then
          isMore = false
          break
        end
        count(found[i])
        examined, rank, bytes = examined + 1, rank + 1, bytes + #found[i]
      end
      chunk = following(chunk, examined, bytes)
    end
    if bytes >= \(examinedBytes) then collectgarbage() end
    local answer = {examined}
    for _, reason in ipairs(order) do
      answer[#answer + 1] = reason
      answer[#answer + 1] = counts[reason]
    end
    return answer
    """)

  /// Finds a dead letter that a page showed before.
  ///
  /// - `score`, `skip`: its score, and the number of letters of this score before it, when it was shown.
  /// - `wanted`: its digest.
  /// - `most`, `beginning`: bytes of a letter that is read whole, at most, and bytes that are read of a longer one.
  ///
  /// Returns {score, length, bytes}, or false if it is gone.
  static let findLetter = RedisScript(
    keys: ["dead"], arguments: ["score", "skip", "wanted", "most", "beginning"],
    """
    \(describing)
    local first = redis.call('ZCOUNT', dead, '(' .. score, '+inf')
    local last = first + redis.call('ZCOUNT', dead, score, score) - 1
    local place = math.min(first + skip, last)
    local function letter(rank)
      local found = redis.call('ZRANGE', dead, rank, rank, 'REV')[1]
      if not found or digest(found) ~= wanted then return nil end
      if #found > tonumber(most) then return {score, #found, string.sub(found, 1, beginning)} end
      return {score, #found, found}
    end
    for distance = 0, \(searchedNeighbours) do
      local below, above = place - distance, place + distance
      local found = below >= first and letter(below)
      if not found and distance > 0 and above <= last then found = letter(above) end
      if found then return found end
      if below < first and above > last then return false end
    end
    return false
    """)
}
