package import Jobs

/// Classes of any name.
package struct TestClasses: JobClasses {
  package init() {}

  package func terms(of name: String, preview: String?) -> any ClassTerms { Terms(className: name) }

  private final class Terms: ClassTerms {
    let policyName = "test"
    let className: String
    let retrySeconds: Int64 = 0

    init(className: String) {
      self.className = className
    }

    func priority(_ asked: Int) -> Int { asked }

    func payload(to instance: String, preview: String?) -> [UInt8] { Array(#"{"aps":{"alert":"t"}}"#.utf8) }
  }
}
