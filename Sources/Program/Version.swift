/// The version of the program, by the rules of https://semver.org. `make docs` writes it wherever it stands besides.
package enum Version {
  package static let current = "2.0.0"
}
