import EventLoop

/// Says something that may happen very often: the first time at once, then once a minute with how often it happened since.
@EventLoop
final class ThrottledWarning<Detail> {
  private let write: @EventLoop (_ count: Int, _ last: Detail) -> Void
  private let interval: Duration
  private var count = 0
  private var last: Detail?
  private var timer: LoopTimer?

  init(interval: Duration = .seconds(60), write: @escaping @EventLoop (_ count: Int, _ last: Detail) -> Void) {
    self.interval = interval
    self.write = write
  }

  func note(_ detail: Detail, count: Int = 1) {
    self.count += count
    last = detail
    if timer == nil { tell() }
  }

  private func tell() {
    guard count > 0, let last else { return }
    write(count, last)
    count = 0
    self.last = nil
    timer = .after(interval) { [weak self] in
      self?.timer = nil
      self?.tell()
    }
  }
}
