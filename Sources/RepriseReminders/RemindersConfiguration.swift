public import Foundation
package import Logging
public import RepriseCore

extension Reminders {
    /// Options of reminders.
    ///
    /// The defaults suit an app.
    public struct Configuration: Sendable {
        /// The app's own store; nil where it is given to `run`.
        package var store: (any ReminderStore)?
        /// The sort of the reminded entities, as in ``RepriseCore/Route/sort``.
        public var sort = "goal"
        /// The signed-in user, as in ``RepriseCore/Route/owner``; nil: the app has only one user.
        ///
        /// A route to another owner's entity is `malformed`.
        public var owner: String?
        /// The effects of notification buttons without the app's screen; at most 64.
        public var actions: [ReminderActionRule] = []
        /// Readers of payloads that have none of Reprise's formats; at most 64.
        public var readers: [RouteReader] = []
        /// The id of the background refresh in which the feature plans, as declared in the app's
        /// `Info.plist`; nil: none.
        public var refreshTask: String?
        /// How long a tap that could not be shown stays valid; nil: for ever.
        ///
        /// Then its entry ends as `expired`.
        public var timeToLive: Duration?
        /// Timeout for the app's store to list its reminders; then it is asked again, after a wait.
        public var storeTimeout: Duration = .seconds(5)
        /// How long the app's store may take to look one entity up, as for a tap.
        public var lookUpTimeout: Duration = .seconds(5)
        /// How long the notification centre may take for one call.
        public var systemTimeout: Duration = .seconds(10)

        package var logger = Logger.silent
        /// The clocks; a test sets a `ManualClock` of RepriseTesting.
        public var timekeeper: any Timekeeper = SystemTimekeeper()
        /// Draws from 0..<1.
        package var jitter: @Sendable () -> Double = { Double.random(in: 0..<1) }
        /// The zone of reminders whose schedule has `.device`; called at each reconciliation.
        public var zone: @Sendable () -> TimeZone = { DeviceZone.now }

        /// - Parameter store: the app's own store, of which reminders are made.
        public init(store: any ReminderStore) { self.store = store }

        package init() {}

        /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration`.
        package func check() throws {
            func bad(_ what: String, _ remedy: String) -> RepriseError {
                RepriseError(.badConfiguration, what, remedy: remedy)
            }
            guard (1...64).contains(sort.utf8.count) else {
                throw bad("A sort of entity has 1 to 64 bytes.", "Give reminders.sort a name.")
            }
            guard (1...128).contains(refreshTask?.utf8.count ?? 1) else {
                throw bad(
                    "The id of a background refresh has 1 to 128 bytes.",
                    "Set reminders.refreshTask as it stands in the Info.plist, or to nil.")
            }
            guard timeToLive ?? .seconds(1) > .zero else {
                throw bad(
                    "A tap is worth showing for longer than no time.",
                    "Set reminders.timeToLive to more, or to nil.")
            }
            let timeout = [storeTimeout, lookUpTimeout, systemTimeout]
            guard timeout.allSatisfy({ $0 > .zero && $0 <= .seconds(600) }) else {
                throw bad("A timeout is more than nothing, and at most 10 minutes.", "Set it so.")
            }
            try checkRouting()
        }
    }
}
