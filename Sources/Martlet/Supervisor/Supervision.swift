import EventLoop

/// Which worker processes run, and what to do when one ends or the supervisor is asked to stop.
///
/// Pure: events in, actions out. A process has a place, numbered from 0. Times are nanoseconds on CLOCK_MONOTONIC.
struct Supervision {
  /// What the supervisor has to do.
  enum Action: Equatable {
    case start(place: Int)
    /// `attempt` counts the ends of this place's processes in a row; 1 is the first.
    case restart(place: Int, after: Duration, attempt: Int)
    /// To the process of this place: finish and end.
    case stop(place: Int)
    /// To the process of this place: end now.
    case hurry(place: Int)
    /// The process of this place does not end: kill it.
    case kill(place: Int)
    /// Nothing runs any more.
    case exit(ExitCode)
  }

  /// How a process ended.
  enum End: Equatable {
    case code(Int32)
    case signal(Int32)
    /// It could not be started.
    case notStarted

    var isClean: Bool { self == .code(ExitCode.done.rawValue) }
  }

  static let backoff = Backoff(base: .seconds(1), cap: .seconds(60))
  /// A process that has run as long as this begins a new row of restarts when it ends.
  static let lastingNanoseconds = Duration.seconds(60).unsignedNanoseconds

  private enum Place: Equatable {
    case running(since: UInt64)
    case waiting
    case ended
  }

  private enum Phase: Equatable {
    case running
    /// Everything ends, and then the supervisor with this code.
    case stopping(ExitCode)
  }

  private var places: [Place]
  /// Ends in a row, for each place.
  private var attempts: [Int]
  private var phase = Phase.running
  private var isHurrying = false

  init(count: Int) {
    places = Array(repeating: .waiting, count: count)
    attempts = Array(repeating: 0, count: count)
  }

  /// The number of places.
  var count: Int { places.count }

  var isStopping: Bool { phase != .running }

  /// The places whose processes wait to be started again.
  var waiting: [Int] { places.indices.filter { places[$0] == .waiting } }

  func begin() -> [Action] { places.indices.map { .start(place: $0) } }

  /// A process was started at this place.
  mutating func started(_ place: Int, now: UInt64) -> [Action] {
    places[place] = .running(since: now)
    return isStopping ? [.stop(place: place)] : []
  }

  /// Returns whether a restart that is due is still wanted.
  func wantsRestart(of place: Int) -> Bool { !isStopping && places[place] == .waiting }

  /// `random`, in 0...1, chooses the delay of a restart.
  mutating func ended(_ place: Int, _ end: End, now: UInt64, random: Double) -> [Action] {
    let lasted: Bool
    if case .running(let since) = places[place] {
      lasted = now >= since + Supervision.lastingNanoseconds
    } else {
      lasted = false
    }
    guard phase == .running else {
      places[place] = .ended
      if case .stopping(.done) = phase, !end.isClean { phase = .stopping(.failed) }
      return exitIfEnded()
    }
    if end == .code(ExitCode.wrongUsage.rawValue) {
      places[place] = .ended
      return stopAll(.wrongUsage)
    }
    attempts[place] = lasted ? 1 : attempts[place] + 1
    places[place] = .waiting
    let delay = Supervision.backoff.delay(attempt: attempts[place], random: random)
    return [.restart(place: place, after: delay, attempt: attempts[place])]
  }

  /// For SIGTERM and SIGINT. The first one lets the processes finish, a further one does not.
  mutating func stop() -> [Action] {
    guard isStopping else { return stopAll(.done) }
    guard !isHurrying else { return [] }
    isHurrying = true
    return running.map { .hurry(place: $0) }
  }

  /// The time in which all processes must have ended is over.
  func overdue() -> [Action] { isStopping ? running.map { .kill(place: $0) } : [] }

  private var running: [Int] {
    places.indices.filter { if case .running = places[$0] { true } else { false } }
  }

  private mutating func stopAll(_ code: ExitCode) -> [Action] {
    phase = .stopping(code)
    for place in waiting { places[place] = .ended }
    return running.map { .stop(place: $0) } + exitIfEnded()
  }

  private func exitIfEnded() -> [Action] {
    guard case .stopping(let code) = phase, places.allSatisfy({ $0 == .ended }) else { return [] }
    return [.exit(code)]
  }
}
