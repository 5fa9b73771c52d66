import RepriseCore

/// Decides whether a handler may be registered for a background task: the system ends the app for
/// a second one, and for one that comes after the launch.
package struct BackgroundRegistrations: Sendable {
    private var registered: Set<String> = []
    private var isLaunched = false

    /// None is registered.
    package init() {}

    /// The app has finished launching.
    package mutating func launched() { isLaunched = true }

    /// Takes an identifier.
    ///
    /// - Parameters:
    ///   - id: the identifier.
    ///   - permitted: `BGTaskSchedulerPermittedIdentifiers` of the Info.plist.
    /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration` with the line to write: then it
    ///   is not to be registered.
    package mutating func register(_ id: String, permitted: [String]) throws {
        // A last part `*` stands for any: of tasks that continue work begun in the foreground.
        let isPermitted = permitted.contains { pattern in
            pattern == id || (pattern.hasSuffix(".*") && id.hasPrefix(pattern.dropLast()))
        }
        guard isPermitted else {
            throw RepriseError(
                .badConfiguration, "The background task \(id) is not in the Info.plist.",
                remedy: "Add it to BGTaskSchedulerPermittedIdentifiers.")
        }
        guard !isLaunched else {
            throw RepriseError(
                .badConfiguration, "The background task \(id) is registered after the launch.",
                remedy: "Register it in application(_:didFinishLaunchingWithOptions:).")
        }
        guard registered.insert(id).inserted else {
            throw RepriseError(
                .badConfiguration, "The background task \(id) is registered twice.",
                remedy: "RepriseAppDelegate registers those of the client: remove your own call.")
        }
    }
}
