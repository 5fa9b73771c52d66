#if !Server
    #error(
        "RepriseServer needs the trait Server of the package reprise: .package(url: …, traits: [\"Server\"])"
    )
#endif
