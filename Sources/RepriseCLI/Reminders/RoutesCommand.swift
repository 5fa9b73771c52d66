import ArgumentParser
import Foundation
import Reprise
import RepriseCommandLine
import RepriseReminders

/// `reprise routes`: recent taps, what they turned out to be, and whether a person saw it.
struct RoutesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "routes",
        abstract: "Show recent taps, what they resolved to and why.",
        discussion: """
            Every tap on a reminder, action of it and deep link is recorded first, then
            resolved by the app's store: active, paused, deleted, missing, superseded or
            malformed, with the reason. "handed" counts how often it was dispatched to the
            app; it is presented when the app confirms its screen. Newest first.
            Safe while another process owns the journal.

            EXAMPLES
              reprise routes --journal ./goals
              reprise routes --journal ./goals --json | jq -r 'select(.handed == 0).reason'

            EXIT CODES
              0 done; 65 no journal there, or a damaged one. All: reprise --help
            """)

    @OptionGroup var recent: RecentOptions

    func run() async throws {
        let routes = try recent.journal.read {
            try ReminderRouteReading.read(
                at: $0, schemas: AccountClient.featureSchemas, limit: recent.limit)
        }
        if routes.isEmpty, !recent.json {
            try StandardOutput.write("Nothing was tapped yet, or it is forgotten already.")
        }
        for route in routes {
            try StandardOutput.write(
                recent.json
                    ? RemindersJSON.object(route)
                    : RouteText(route).lines(.output).joined(separator: "\n"))
        }
    }
}
