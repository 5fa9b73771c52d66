/// Mutes, quiet hours and deliveries.
extension OpenAPIExchanges {
    func notices() -> [(ExchangeRecorder.Ask, Int)] {
        let channels = "/v1/mutes/channels/{channel}"
        let users = "/v1/mutes/users/{user}"
        let hours = "PUT /v1/quiet-hours"
        let list = "GET /v1/channels/{channel}/deliveries/{seq}"
        let devices = "\(list)/devices"
        return [
            (ask("PUT \(channels)", #"{"exceptMentions":false}"#), 200),
            (ask("GET /v1/mutes"), 200),
            (ask("PUT \(channels)"), 200), (ask("PUT \(users)"), 200),
            (ask("PUT /v1/mutes/elsewhere"), 200),
            (ask("GET /v1/mutes"), 200), (ask("DELETE /v1/mutes/elsewhere"), 204),
            (ask("DELETE \(channels)"), 204),
            (ask("DELETE \(users)"), 204), (ask(hours), 200),
            (
                ask(
                    hours,
                    #"{"device":"none","from":"22:00","to":"07:00","timeZone":"Europe/Berlin"}"#),
                404
            ),
            (ask("GET /v1/quiet-hours"), 200), (ask("DELETE /v1/quiet-hours"), 204),
            (ask("GET /v1/unread"), 200),
            (ask("GET /v1/push"), 200), (ask(list), 200), (ask(list, seq: "999"), 404),
            (ask(list, as: "eve", channel: "den"), 403), (ask(list, query: [("limit", "1")]), 200),
            (ask(devices), 200), (ask(devices, seq: "999"), 404),
            (ask(devices, as: "eve", channel: "den"), 403),
        ]
    }
}
