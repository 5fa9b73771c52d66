/// The version of the tools, as `--version` and the server's log show it.
package enum ToolVersion {
    package static let text = "0.1.0"
    package static let client = "reprise-cli/" + text
}
