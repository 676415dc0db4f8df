package enum Version {
  package static let current = "1.1.0"
}
