/// What every server accepts in one request.
package enum RequestLimits {
  /// Words of a request, with the name of the command: Amazon ElastiCache Serverless accepts 3,999.
  ///
  /// Every command of Martlet has fewer. Those whose length depends on data are sent in batches.
  package static let maximumWords = 3_999
}

extension Array {
  /// The elements in their order, in parts of up to `count`.
  public func batches(of count: Int) -> [ArraySlice<Element>] {
    stride(from: 0, to: self.count, by: count).map { self[$0..<Swift.min($0 + count, self.count)] }
  }
}
