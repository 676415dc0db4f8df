public import EventLoop

/// Logs what may happen very often: the first time at once, then once per interval with the number since.
@EventLoop
public final class ThrottledWarning<Detail> {
  private let write: @EventLoop (_ count: Int, _ last: Detail) -> Void
  private let interval: Duration
  private var count = 0
  private var last: Detail?
  private var timer: LoopTimer?

  public init(interval: Duration = .seconds(60), write: @escaping @EventLoop (_ count: Int, _ last: Detail) -> Void) {
    self.interval = interval
    self.write = write
  }

  /// Whether nothing has happened for an interval.
  public var isQuiet: Bool { timer == nil }

  public func warn(_ detail: Detail, count: Int = 1) {
    self.count += count
    last = detail
    if timer == nil { writeOut() }
  }

  private func writeOut() {
    guard count > 0, let last else { return }
    write(count, last)
    count = 0
    self.last = nil
    timer = .after(interval) { [weak self] in
      self?.timer = nil
      self?.writeOut()
    }
  }
}
