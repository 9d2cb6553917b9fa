"""Eight networks of 16 people with three neighbours each, extreme in four measures.

After Mason and Watts, "Collaborative learning in networks" (PNAS 109, 2012). Each network
has the extreme value among all 4,060 connected networks of this kind; README says which
one was taken if several have it. The text is in the format graph6.
"""

import networkx as nx

#: first four in which few ways lead from one part to another, then four in which
#: everybody is near to everybody
NETWORKS = {
    "max_max_betweenness": "O`?P?OABODCDo?_?i?GY?",
    "max_mean_betweenness": "OI_s?CH???_B?paG?bB_?",
    "max_mean_clustering": "OGFc??W?OS?A?T_aACbA?",
    "max_var_constraint": "Oc?P?OABODCDW?_?i?GY?",
    "min_mean_betweenness": "O?_AA`_DD?C_B_AKAPCAG",
    "min_mean_clustering": "OAQa?O@_g_CO?Ba?_h@`?",
    "max_min_closeness": "O@@OQCG?OosO@G_GK?K?c",
    "max_max_closeness": "O`?P?@ABOEO`W?_?b?GR?",
}


def network(name: str) -> nx.Graph:
    """The network of this name, with nodes 0 to 15.

    Raises:
        ValueError: for another name; lists the eight names.
    """
    if name not in NETWORKS:
        raise ValueError(f"network must be one of {', '.join(NETWORKS)}, got {name!r}")
    return nx.from_graph6_bytes(NETWORKS[name].encode())
