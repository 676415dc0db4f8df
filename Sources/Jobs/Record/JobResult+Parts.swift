extension JobResult {
  /// Who wrote it: one attempt at one job.
  public var author: String { "\(worker) \(claimedAt)" }

  /// Takes in what one page of a broadcast came to.
  public mutating func absorb(_ page: JobResult) {
    merge(earlier: page)
    uncertain += page.uncertain
  }

  /// Devices that an earlier attempt left uncertain, and that this one does not try again.
  public mutating func carry(uncertain count: Int) {
    uncertain += count
  }
}
