from .card import save_card as save_card
from .document import (
    Document as Document,
    Plot as Plot,
    Section as Section,
    Table as Table,
    records as records,
)
from .gallery import read_paper as read_paper, write_gallery as write_gallery
from .report import (
    render as render,
    render_document as render_document,
    write_document as write_document,
    write_folder as write_folder,
    write_report as write_report,
)
from .roles import (
    role_sections as role_sections,
    roles_document as roles_document,
    shift_section as shift_section,
)
