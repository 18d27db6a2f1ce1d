The console stays responsive while a kind changes a thousand times a second: it takes events in portions, sorts only what moved and draws only what differs.
